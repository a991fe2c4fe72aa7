"""`python -m experiment`."""

from mesh.supervisor.early_interrupt import end_quietly

end_quietly()

from experiment.cli import app  # noqa: E402 - a user may interrupt this import

if __name__ == "__main__":
    app(prog_name="python -m experiment")
