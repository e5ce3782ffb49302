"""``countersign``: hooks of coding agents (install, uninstall, run), and the proof that they fail closed."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def main() -> None:
    """The console script. A hook goes its own way: it may end in nothing but a decision or a refusal."""
    if sys.argv[1:2] == ["hook"]:
        from .hook import main as hook

        hook(sys.argv[2:], decided=0)
    from .hooks.settings_file import Unusable

    options = _parser().parse_args()
    try:
        sys.exit(options.run(options))
    except Unusable as error:
        sys.exit(_fault(str(error)))
    except (KeyboardInterrupt, EOFError):
        sys.exit(_fault("stopped; nothing was changed"))


def _parser() -> ArgumentParser:
    from argparse import ArgumentParser

    from .hooks import installing

    parser = ArgumentParser("countersign", description="People decide what agents may do. COUNTERSIGN_URL and "
                            "COUNTERSIGN_API_KEY (role agent) say where the desk is and who asks.")  # fmt: skip
    parts = parser.add_subparsers(required=True, metavar="COMMAND")
    hooks = parts.add_parser("hooks", help="put the gate in front of a coding agent, or take it away")
    actions = hooks.add_subparsers(required=True, metavar="install|uninstall")
    for name, run in (("install", installing.install), ("uninstall", installing.uninstall)):
        action = actions.add_parser(name)
        action.add_argument("client", choices=sorted(installing.CLIENTS))
        action.add_argument("--yes", action="store_true", help="do not ask before the settings are changed")
        action.add_argument("--settings", metavar="PATH", help="these settings, in place of the client's own")
        scope = action.add_mutually_exclusive_group()
        scope.add_argument(
            "--user", dest="scope", action="store_const", const="user", help="for all projects (default)"
        )
        scope.add_argument("--project", dest="scope", action="store_const", const="project", help="for this folder")
        action.set_defaults(run=run, scope="user")
        if name == "install":
            _add_install_options(action)
    doctor = parts.add_parser("doctor", help="prove that the hooks here fail closed")
    proofs = doctor.add_subparsers(required=True, metavar="hooks")
    action = proofs.add_parser("hooks", help="one call each, with the way to the desk stopped")
    action.add_argument("client", nargs="?", choices=sorted(installing.CLIENTS), help="this one alone")
    action.add_argument("--settings", metavar="PATH", help="these settings, in place of the client's own")
    action.add_argument("--client", dest="program", metavar="PATH", help="the client itself, where it is not in PATH")
    action.set_defaults(run=_doctor)
    _add_gateway(parts.add_parser("mcp-gateway", help="ask before each call of a tool of an MCP server"))
    _add_permission(parts.add_parser("mcp-permission", help="the MCP server for claude --permission-prompt-tool"))
    _add_acp(parts.add_parser("acp", help="answer what an agent asks its editor (Agent Client Protocol)"))
    parts.add_parser("hook", help="run by a client: CLIENT EVENT, the call on standard input")
    return parser


def _add_gateway(gateway: ArgumentParser) -> None:
    gateway.add_argument("--agent", default="MCP client", help="in whose name it is asked")
    gateway.add_argument("--server", help="the name of the server in policies and on cards (that of its program)")
    gateway.add_argument("--hold", type=float, default=3600, metavar="SECONDS",
                         help="how long a call waits for a decision; then it is refused (3600)")  # fmt: skip
    gateway.add_argument("--round", type=float, default=50, metavar="SECONDS",
                         help="how long a client of 2026-07-28 waits at a time, unless it counts progress; 0: as long "
                         "as the call is held (50)")  # fmt: skip
    gateway.add_argument("--header", action="append", default=[], metavar="NAME=VARIABLE",
                         help="sent to a server at an address, with the value in that variable")  # fmt: skip
    gateway.add_argument("server_command", nargs="...", metavar="-- COMMAND|ADDRESS",
                         help="the MCP server: a program that speaks stdio, or where it is")  # fmt: skip
    gateway.set_defaults(run=_run_gateway)


def _add_permission(permission: ArgumentParser) -> None:
    agent = os.environ.get("COUNTERSIGN_AGENT") or "Claude Code"
    permission.add_argument("--agent", default=agent, help=f"in whose name it is asked ({agent})")
    permission.add_argument("--hold", type=float, default=3540, metavar="SECONDS",
                            help="how long a call waits for a decision; then it is denied (3540)")  # fmt: skip
    permission.set_defaults(run=_run_permission)


def _add_acp(proxy: ArgumentParser) -> None:
    proxy.add_argument("--agent", default="ACP agent", help="in whose name it is asked")
    proxy.add_argument("--hold", type=float, default=3600, metavar="SECONDS",
                       help="how long a request waits for a decision; then it is refused (3600)")  # fmt: skip
    proxy.add_argument("--ask-editor", action="store_true", help="ask in the editor, too: its no counts, its yes does "
                       "not")  # fmt: skip
    proxy.add_argument("agent_command", nargs="...", metavar="-- COMMAND", help="the agent, on stdio")
    proxy.set_defaults(run=_run_acp)


def _add_install_options(action: ArgumentParser) -> None:
    action.add_argument("--client", dest="program", metavar="PATH", help="the client itself, where it is not in PATH")
    action.add_argument("--hold", type=int, default=3540, metavar="SECONDS",
                        help="how long a call waits for a decision; then it is denied (3540)")  # fmt: skip
    action.add_argument("--defer", action="store_true", help="claude -p: after --hold end the run, to be resumed "
                        "when there is a decision, for a week")  # fmt: skip


def _doctor(options: Namespace) -> int:
    from .doctor import doctor

    return doctor.hooks(options)


def _run_gateway(options: Namespace) -> int:
    from .mcp import run

    return run.gateway(options)


def _run_permission(options: Namespace) -> int:
    from .mcp import run

    return run.permission(options)


def _run_acp(options: Namespace) -> int:
    from .acp import proxy

    return proxy.run(options)


def _fault(message: str) -> int:
    print(f"countersign: {message}", file=sys.stderr)
    return 2


def options_of(arguments: list[str]) -> Namespace:
    """As the command line is read."""
    return _parser().parse_args(arguments)
