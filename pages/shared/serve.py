"""The dashboard's server: `python -m pages.shared.serve`, with the options of `streamlit run`.

Half of a start is importing PyTorch and transformers. Here that, the model and the first example are
on their way while the server comes up and the browser connects.
"""

import sys
import threading
from pathlib import Path

APP = Path(__file__).resolve().parents[2] / "app.py"


def get_ready() -> None:
    """Load what the first session will ask for; what goes wrong is said there."""
    from analysis.examples import EXAMPLES
    from analysis.explore import analyse
    from analysis.model import ModelError
    from pages.shared import models, session  # noqa: F401  the session module brings all that pages import

    try:
        loaded = models.preload()
    except ModelError:
        return
    analyse(loaded.lm, EXAMPLES[0].prompt_set, loaded.caches)


def main() -> None:
    threading.Thread(target=get_ready, name="get ready", daemon=True).start()
    from streamlit.runtime.pages_manager import PagesManager
    from streamlit.web.cli import main as streamlit

    # As `st.navigation` does when app.py runs: without it the first link to a page runs that page alone, with a menu
    # of file names.
    PagesManager.uses_pages_directory = False
    streamlit(["run", str(APP), *sys.argv[1:]], prog_name="streamlit")


if __name__ == "__main__":
    main()
