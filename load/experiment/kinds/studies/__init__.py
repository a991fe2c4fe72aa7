"""`make studies`: published studies replayed by their own designs, and a verdict on each of their claims."""

from __future__ import annotations

import typer

from experiment.arguments import checked_seed, profile_of, whole_number
from experiment.commands import in_blocks, options
from experiment.commands.preflight import Preflight
from experiment.kinds.studies.arms import PROFILES, study_plan
from experiment.kinds.studies.in_turn import InTurn
from experiment.kinds.studies.study import studies_named
from experiment.plan.arms_in_blocks import MOST_BLOCKS
from mesh.description.options import Json, takes_settings


@takes_settings("studies")
def command(
    *,
    given: typer.Context,
    study: str,
    blocks: str | None,
    profile: str,
    seed: str,
    resume: str,
    retry: str,
    strict: str | None,
    as_json: Json = False,
) -> None:
    """The command `studies`; `commands.toml` has its help."""
    with options.reported_errors():
        look = Preflight()
        repeats, is_strict = whole_number("retry", retry, 0, in_blocks.MAX_RETRIES), options.is_strict(strict)
        if resume:
            in_blocks.refuse_beside_resume(given)
            look.end()
            in_turn = InTurn.take_up(resume)
        else:
            chosen = profile_of(PROFILES, profile)
            count = whole_number("blocks", blocks, 1, MOST_BLOCKS) if blocks else chosen.blocks
            numbered = checked_seed(seed)
            plans = [study_plan(one, chosen, count, numbered) for one in studies_named(study)]
            look.end()
            in_turn = InTurn.begin(plans)
        in_turn.run(retry=repeats, strict=is_strict, as_json=as_json)
