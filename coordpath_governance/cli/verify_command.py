"""`coordpath verify`: recheck a report offline."""

from __future__ import annotations

from pathlib import Path

import click

from coordpath_governance.cli.screen import progress_line, say
from coordpath_governance.errors import NotFoundError, UsageError
from coordpath_governance.reports.change_report import ChangeReport
from coordpath_governance.reports.verify import verify_report

__all__ = ["command"]

EXIT_MISMATCH = 1
_SHOWN = 20


@click.command("verify")
@click.argument("report", type=click.Path(path_type=Path), metavar="REPORT.json")
@click.option("--data", type=click.Path(path_type=Path), metavar="FILE", help="The reference data that the report names.")
def command(report: Path, data: Path | None) -> int:
    """Recheck REPORT.json: its arithmetic, its certificate and, with --data, the data behind it.

    Exits 0 if everything that was rechecked holds, 1 if anything does not. Only with --data does it say "verified".
    """
    try:
        content = report.read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"there is no file '{report}'") from None
    except OSError as error:
        raise UsageError(f"cannot read '{report}': {error.strerror}") from error
    with progress_line() as progress:
        result = verify_report(ChangeReport.from_bytes(content), data, progress)
    for check in result.checks:
        say(f"{'ok      ' if check.passed else 'MISMATCH'}  {check.level}: {check.what}")
        for finding in check.findings[:_SHOWN]:
            say(f"            {finding}")
        if len(check.findings) > _SHOWN:
            say(f"            and {len(check.findings) - _SHOWN} more")
    for missing in result.not_rechecked:
        say(f"not rechecked: {missing}")
    say(result.conclusion)
    return 0 if result.passed else EXIT_MISMATCH
