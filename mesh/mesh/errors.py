"""What can go wrong while a topology is set up, started, run or stopped."""

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
    """A component exited during a run; `when_lost` is the effect on the run, as in `Component`."""

    def __init__(self, component: str, message: str, when_lost: str = "end") -> None:
        super().__init__(message)
        self.component = component
        self.when_lost = when_lost
