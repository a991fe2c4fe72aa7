"""What can go wrong while a topology is set up, started, run or stopped.

MeshError                     shown to the user as it is, without a traceback
├── InputError                something that the user gave; names the input and the valid choices
│   ├── TopologyError         an unknown topology, or a topology file with a mistake
│   ├── SwitchError           a switch with a value that it cannot have
│   └── PortError             a port base out of range, or a port that is taken
├── AlreadyRunningError       another run uses this port base
├── NotInstalledError         a program that set-up installs is missing
├── StartError                a component did not become ready, or a step before it failed
├── ClusterError              the cluster refused something, or cannot be reached; quotes the cluster's message
└── ComponentDiedError        a component exited during a run
"""

from __future__ import annotations


class MeshError(Exception):
    """An error whose message is shown to the user as it is, without a traceback."""


class InputError(MeshError):
    """Something that the user gave is not valid; the message names it and the valid choices."""


class TopologyError(InputError):
    """A topology is unknown, or its file has a mistake."""


class SwitchError(InputError):
    """A switch has a value that it cannot have."""


class PortError(InputError):
    """The port base is out of range, or a port is taken."""


class CertificateError(InputError):
    """A certificate or key that the user named cannot be used."""


class AlreadyRunningError(MeshError):
    """Another run uses this port base."""


class NotInstalledError(MeshError):
    """A program that set-up installs is missing."""


class NotPrivateError(MeshError):
    """A folder for secrets or sockets is open to other users."""


class StartError(MeshError):
    """A component did not become ready, or a step before it failed."""


class ClusterError(MeshError):
    """The cluster cannot be reached, lacks something that is needed, or refused a request; the message quotes the
    cluster."""


class ComponentDiedError(MeshError):
    """A component exited during a run.

    Attributes:
        component: Name of the component.
        when_lost: The effect on the run, as in `Component`.
    """

    def __init__(self, component: str, message: str, when_lost: str = "end") -> None:
        super().__init__(message)
        self.component = component
        self.when_lost = when_lost
