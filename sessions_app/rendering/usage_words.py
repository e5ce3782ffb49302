"""What is said of tokens and money where no number can stand, and who states the number where one does."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.phrases import gettext as _


@dataclass(frozen=True, slots=True)
class NoTokens:
    """The words in place of tokens and cost. ``copied``: the tokens that another session or turn counts already."""

    words: str
    title: str = ""
    copied: int | None = None


UNASKED = NoTokens(_("no model answered"), _("This desk asks the models itself here, and counts what they answer"))


def no_tokens_of_session(copied: int, *, is_running: bool, asks_here: bool) -> NoTokens:
    """For a session without tokens and without cost. ``asks_here``: this desk itself asks the models of its agent."""
    if copied:
        return NoTokens(
            _("tokens, all counted elsewhere"), _("Every response stands in an earlier session as well"), copied
        )
    if is_running:
        return NoTokens(_("no tokens yet"))
    return UNASKED if asks_here else NoTokens(_("tokens and cost not reported"), _("The source does not say"))


def no_tokens_of_turn(copied: int, *, is_running: bool, asks_here: bool) -> NoTokens:
    """For a turn without tokens."""
    if copied:
        words = _("tokens, counted in the session that this repeats")
        return NoTokens(words, _("A copy of another session, in which these tokens are counted"), copied)
    if is_running:
        return NoTokens(_("no tokens yet"))
    if asks_here:
        return UNASKED
    return NoTokens(_("tokens and cost not reported"), _("The source states no tokens for this turn"))


def recorder(*, runs_here: bool) -> str:
    """Who reports a cost that was not estimated here."""
    return _("its runtime") if runs_here else _("the recorder")


def source_of_cost(basis: str | None, *, runs_here: bool) -> str:
    """Where a session's cost comes from, behind the amount; ``basis`` is recorded, priced, mixed or empty."""
    if basis == "recorded":
        return _("reported by %(recorder)s", recorder=recorder(runs_here=runs_here))
    return {"priced": _("estimated from list prices"), "mixed": _("partly estimated from list prices")}.get(
        basis or "", _("no price known")
    )
