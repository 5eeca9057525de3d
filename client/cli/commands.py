"""How a command of `carpet` is found and run: its module is loaded by name, and any failure becomes a sentence and an exit status."""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from client.cli.command_table import COMMANDS, main_help
from client.cli.ending import FAILED, RunNext, complain, drop_output, give_back
from protocol import INTERRUPTED
from protocol.command_line import misuse_text, with_plain_help


def _loaded(name: str) -> Any:
    """Import a module of `client.cli`. What it imports stays; a search for garbage in it takes a tenth of the time to a first screen."""
    gc.disable()
    try:
        return importlib.import_module(f"client.cli.{name}")
    finally:
        gc.freeze()
        gc.enable()


class LazyGroup(TyperGroup):
    """All of `COMMANDS`. Only the command that is asked for is loaded; the help needs none."""

    def list_commands(self, ctx: Any) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """None if there is no such command."""
        if cmd_name not in COMMANDS:
            return None
        module = _loaded(COMMANDS[cmd_name][0])
        return with_plain_help(get_group(module.app).get_command(ctx, cmd_name))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As in the library, which suggests similar names from `self.commands`."""
        if args and args[0] in COMMANDS:
            self.commands = {args[0]: self.get_command(ctx, args[0])}
        else:
            # Only the names are used.
            names: Any = dict.fromkeys(COMMANDS)
            self.commands = names
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        del ctx
        formatter.write(main_help() + "\n")


app = typer.Typer(
    cls=LazyGroup, pretty_exceptions_enable=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]}
)


@app.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        _loaded("screens").menu(run)


def run(arguments: Sequence[str]) -> int:
    """Run a command line, and what follows it. Returns the exit status."""
    try:
        status: int | None = app(args=list(arguments), prog_name="carpet", standalone_mode=False)
    except RunNext as following:
        return run(following.arguments)
    except typer.TyperException as error:
        give_back()
        complain(misuse_text(error, "carpet"))
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        if sys.stdout.isatty():
            # The terminal shows ^C where the cursor was, and the shell's prompt would stand behind it.
            print()
        return INTERRUPTED
    except BrokenPipeError:
        drop_output()
        return FAILED
    except Exception as error:
        # Any command that can fail this way has loaded the module.
        errors = sys.modules.get("client.connection.errors")
        if errors is None or not isinstance(error, errors.Failure):
            raise
        give_back()
        complain(f"carpet: {error}")
        return FAILED
    return status or 0
