"""Starts components again that have died, as long as that helps."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable

from mesh.errors import ComponentDiedError, StartError
from mesh.run import Run

MOST = 5
"""How often a component is started again within the window."""
WINDOW_S = 60.0
FIRST_PAUSE_S = 0.5
"""Before the second start of a window; each further pause is twice as long. The first start follows at once."""


class Restarts:
    """Keeps the components of a run alive. It must be used from the thread that started them.

    Args:
        run: whose components; it runs.
        say: told what died and what was done about it.
        clock: gives the time in seconds.
    """

    def __init__(self, run: Run, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._say = say
        self._clock = clock
        self._tried: defaultdict[str, list[float]] = defaultdict(list)
        self._down: dict[str, ComponentDiedError] = {}
        self.counts: Counter[str] = Counter()

    def look(self) -> bool:
        """Start again what has died and whose pause is over.

        Returns:
            Whether a component was started again.

        Raises:
            ComponentDiedError: one has died too often; says so.
        """
        before = self.counts.total()
        self._down.update((death.component, death) for death in self._run.ended())
        for death in list(self._down.values()):
            self._revive(death)
        return self.counts.total() > before

    def _revive(self, death: ComponentDiedError) -> None:
        name, now = death.component, self._clock()
        tried = self._tried[name] = [at for at in self._tried[name] if now - at < WINDOW_S]
        if len(tried) >= MOST:
            raise ComponentDiedError(
                name, f"{name} was started again {MOST} times within {WINDOW_S:g} s, to no avail.\n{death}"
            )
        if tried and now - tried[-1] < FIRST_PAUSE_S * 2 ** (len(tried) - 1):
            return
        tried.append(now)
        self.counts[name] += 1
        try:
            self._run.restart(name)
        except StartError as error:
            self._down[name] = ComponentDiedError(name, f"{name} could not be started again: {error}")
            self._say(str(self._down[name]))
        else:
            del self._down[name]
            self._say(f"{death}\n{name} was started again; restarts so far: {self.counts[name]}.")
