"""Restarts dead components for as long as that helps."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from mesh.errors import ComponentDiedError, StartError

MAX_RESTARTS = 5
"""Maximum number of consecutive restarts of a component that dies again and again."""
LASTS_S = 60.0
"""Seconds after which a running component counts as stable: if it dies later, its restarts count from zero again."""
FIRST_PAUSE_S = 0.5
"""Pause before the second restart in a row; each further pause is twice as long. The first restart is immediate."""


class Restartable(Protocol):
    """A run whose components can be restarted."""

    def find_dead(self) -> Sequence[ComponentDiedError]:
        """An error for every component that should run but has ended."""

    def restart(self, component: str) -> None:
        """Starts a component again; raises a StartError if it does not become ready."""


class Restarts:
    """Keeps the components of a run alive. It must be used from the thread that started them.

    `say` receives a message about each death and the action taken. Unless `every` component is restarted, the death of
    a required component ends the run.
    """

    def __init__(
        self,
        run: Restartable,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        *,
        every: bool = True,
    ) -> None:
        self._every = every
        self._left: set[str] = set()
        self._run = run
        self._say = say
        self._clock = clock
        self._down: dict[str, ComponentDiedError] = {}
        self._in_a_row: Counter[str] = Counter()
        self._last: dict[str, float] = {}
        self.counts: Counter[str] = Counter()

    def look(self) -> bool:
        """Restarts the components that have died and whose pause is over; returns whether there were any.

        Raises:
            ComponentDiedError: A required component has died, or died too often if such components are restarted.
        """
        before = self.counts.total()
        for death in self._run.find_dead():
            name = death.component
            if not self._every and death.when_lost == "end":
                raise death
            if name in self._left:
                continue
            if name not in self._down and self._clock() - self._last.get(name, 0.0) >= LASTS_S:
                self._in_a_row[name] = 0
            self._down[name] = death
        for death in list(self._down.values()):
            self._revive(death)
        return self.counts.total() > before

    def _revive(self, death: ComponentDiedError) -> None:
        name, tried = death.component, self._in_a_row[death.component]
        gives_up = f"{name} was restarted {MAX_RESTARTS} times in a row and never ran for {LASTS_S:g} s.\n{death}"
        if death.when_lost == "end" and tried >= MAX_RESTARTS:
            raise ComponentDiedError(name, gives_up)
        if death.when_lost == "leave" or tried >= MAX_RESTARTS:
            self._left.add(name)
            del self._down[name]
            self._say(f"{death if death.when_lost == 'leave' else gives_up}\nThe run continues without {name}.")
            return
        if tried and self._clock() - self._last[name] < FIRST_PAUSE_S * 2 ** (tried - 1):
            return
        self._in_a_row[name] += 1
        self.counts[name] += 1
        try:
            self._run.restart(name)
        except StartError as error:
            self._down[name] = ComponentDiedError(name, f"{name} could not be restarted: {error}", death.when_lost)
            self._say(str(self._down[name]))
        else:
            del self._down[name]
            self._say(f"{death}\n{name} was restarted; restarts so far: {self.counts[name]}.")
        self._last[name] = self._clock()
