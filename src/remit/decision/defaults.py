"""Default values, in a module without imports, so commands can show them cheaply."""

DEFAULT_LIMIT = 20  # results of a search
MAX_LIMIT = 50
DEADLINE = 30.0  # seconds; a runner such as `npx` may need to download the server first
