"""Rewordings made by rule: what a rule proposes, edit by edit, and what it could not make."""
