"""The command `remit`: handles hook events directly, and everything else in the command line."""

import atexit
import gc
import sys

_INSTALLED = 3  # words of `hook --install FILE`; a hook ignores more
_INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended
_ALLOCATIONS = 100_000  # between garbage collections: loading a command makes nearly as many


def main() -> None:
    """Run the command; a hook has only milliseconds, so it never loads the command line."""
    gc.set_threshold(_ALLOCATIONS)
    atexit.register(gc.freeze)  # skip the collection at exit
    words = sys.argv[1:]
    if words == ["hook"] or (words[:2] == ["hook", "--install"] and len(words) >= _INSTALLED):
        from remit.hooks.hook_process import main as answer

        answer(*words[2:_INSTALLED])
    else:
        _run_command_line()


def _run_command_line() -> None:
    """Load and run the command line; Ctrl-C ends it without a traceback, also while it loads or exits."""
    try:
        import signal

        from remit.cli.app import main as run

        try:
            run()
        finally:
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
