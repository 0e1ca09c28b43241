"""The `frontdesk` command. `run` starts here, by the shortest way; everything else is in gateway/cli_commands.py.

Typer and rich cost a tenth of a second and some megabytes, which a gateway that runs for weeks has no use for, so `run`
is read by argparse and they are imported only for the commands a person waits at.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from gateway.preflight import preflight

OK, FAILED, MISCONFIGURED = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Never returns: ends with 0 for a clean end, 2 for usage or configuration, 1 for anything else."""
    preflight()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["run"]:
        sys.exit(run_gateway(arguments[1:]))
    from gateway.cli_commands import command

    sys.exit(command(arguments))


def run_gateway(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser("frontdesk run", description="Start the gateway; Ctrl-C or SIGTERM drains it.")
    where = "the configuration (default: FRONTDESK_CONFIG, ./frontdesk.toml, or the built-in demo)"
    parser.add_argument("--config", type=Path, metavar="FILE", help=where)
    options = parser.parse_args(arguments)

    from config.sources import locate
    from core.errors import ConfigurationError

    try:
        # Found once: were it looked for again, a file that is away for a moment would make this the demo.
        file = locate(options.config, os.environ, Path.cwd())
        from gateway.proving import proved

        settings = proved(file)
        for warning in settings.warnings:
            complain(f"WARNING: {warning}")
        from gateway.app import run

        return run(settings, lambda: proved(file))
    except ConfigurationError as error:
        complain(str(error))
        return MISCONFIGURED


def complain(words: str) -> None:
    print(f"frontdesk: {words}", file=sys.stderr)
