"""Side-by-side timings: every figure stands beside what it is compared with, from one run."""
