"""`make studies`: replays published studies according to their own designs, and gives a verdict on each claim."""

from __future__ import annotations

from experiment.arguments import checked_seed, profile_of, whole_number
from experiment.commands import in_blocks
from experiment.kinds.studies.arms import PROFILES, studies_plan
from experiment.kinds.studies.study import studies_named, with_claims
from experiment.plan.arms_in_blocks import MAX_BLOCKS, Plan
from hops.kinds.studies.document import KIND


@in_blocks.experiment(KIND)
def command(*, study: str, claims: str, blocks: str | None, common: in_blocks.Common) -> Plan:
    profile = profile_of(PROFILES, common.profile)
    count = whole_number("blocks", blocks, 1, MAX_BLOCKS) if blocks else profile.blocks
    return studies_plan(with_claims(studies_named(study), claims), profile, count, checked_seed(common.seed))
