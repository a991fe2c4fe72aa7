"""What can go wrong while a topology is set up, started, run or stopped.

MeshError                     shown to the user as it is, without a traceback
├── InputError                something the user gave: names the input and the valid choices
│   ├── TopologyError         an unknown topology, or a wrong topology file
│   ├── SwitchError           a switch with a value it cannot have
│   └── PortError             a port base out of range, or a port that is taken
├── AlreadyRunningError       another run holds this port base
├── NotInstalledError         a program that set-up should have brought is missing
├── StartError                a component did not become ready, or a step before it failed
└── ComponentDiedError        a component ended in mid-run
"""

from __future__ import annotations


class MeshError(Exception):
    """Anything that the user is told in one message, without a traceback."""


class InputError(MeshError):
    """Something the user gave is wrong; the message names it and what it may be."""


class TopologyError(InputError):
    """A topology is unknown, or its file is wrong."""


class SwitchError(InputError):
    """A switch has a value that it cannot have."""


class PortError(InputError):
    """The port base is out of range, or a port is taken."""


class AlreadyRunningError(MeshError):
    """Another run holds this port base."""


class NotInstalledError(MeshError):
    """A program that set-up should have brought is missing."""


class StartError(MeshError):
    """A component did not become ready, or a step before it failed."""


class ComponentDiedError(MeshError):
    """A component ended in mid-run.

    Args:
        component: its name.
        message: what is told to the user.
    """

    def __init__(self, component: str, message: str) -> None:
        super().__init__(message)
        self.component = component
