"""Where Remit keeps its own data.

The platform's directories are worked out here: importing a library for it takes longer than recording a use.
"""

import os
from collections.abc import Mapping

DATABASE = "remit.db"


def data_directory(variables: Mapping[str, str], platform: str, home: str) -> str:
    """Name the directory of Remit's data: `REMIT_HOME`, else the platform's place for user data."""
    if given := variables.get("REMIT_HOME"):
        return given
    if platform == "win32":
        return os.path.join(variables.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "remit")
    if platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "remit")
    return os.path.join(variables.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share"), "remit")
