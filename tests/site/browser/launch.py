"""Which browser tests the site; as a program, whether it is there, before the site is built for it."""

import importlib
import os
import shutil
import sys
from typing import Any


def launch(playwright: Any) -> Any:
    """The browser of the environment variable CHROMIUM, else Debian's package, else Playwright's own."""
    place = os.environ.get("CHROMIUM") or shutil.which("chromium")
    return playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])


def main() -> None:
    api = importlib.import_module("playwright.sync_api")
    with api.sync_playwright() as playwright:
        try:
            launch(playwright).close()
        except api.Error as error:
            reason = error.message.splitlines()[0]
            sys.exit(f"no browser for the site ({reason}); apt-get install chromium, or set CHROMIUM to its path")


if __name__ == "__main__":
    main()
