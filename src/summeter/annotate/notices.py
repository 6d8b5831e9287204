"""What a researcher should hear of a new campaign before anybody comes. It is made all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from summeter.annotate.campaign import PARAPHRASES, STRANGER, Campaign

if TYPE_CHECKING:
    from summeter.annotate.folder import CampaignFolder, Tasks


def notices(folder: CampaignFolder) -> list[str]:
    """Sentences without a full stop, each on one thing that will not go as it seems to be meant."""
    campaign, tasks = folder.campaign, folder.tasks
    return [*_accounts(campaign, tasks), *_checks(campaign, tasks), *_assistance(campaign, tasks)]


def _accounts(campaign: Campaign, tasks: Tasks) -> Iterator[str]:
    if campaign.platform.name != "local":
        return
    there, overlap, most = len(campaign.platform.accounts), campaign.answers_per_item, campaign.batch.per_annotator
    if not there:
        yield "nobody can take part: name people in platform.accounts"
    elif there < overlap:
        yield f"{there} accounts cannot give {overlap} answers to a task; no task will be complete"
    elif most is not None and (can := there * most * campaign.batch.size) < (needed := overlap * len(tasks.work)):
        yield f"{there} accounts may give {can} of the {needed} answers; batch.per_annotator lets them do no more"


def _checks(campaign: Campaign, tasks: Tasks) -> Iterator[str]:
    plan, size, most = campaign.attention, campaign.batch.size, campaign.batch.per_annotator
    if plan.rate == 0:
        if campaign.pay is not None and campaign.pay.bonus is not None:
            yield "attention.rate is 0: whoever finishes a batch gets the bonus"
        return
    work = len(tasks.work) if most is None else min(len(tasks.work), size * most)
    met = min(len(tasks.checks), work * plan.rate / (1 - plan.rate))
    if met < plan.judge_after:
        yield (f"a person meets about {met:.1f} attention checks at most, and is judged by them after "
               f"{plan.judge_after} (attention.judge_after)")  # fmt: skip
    foreign = campaign.language != "en" and campaign.kind == "key_fact_alignment"
    if foreign and (plan.stranger == STRANGER or plan.paraphrases == PARAPHRASES):
        yield (f"attention.stranger and attention.paraphrases are English unless given, and the texts are not "
               f"({campaign.language}): checks will stand out")  # fmt: skip


def _assistance(campaign: Campaign, tasks: Tasks) -> Iterator[str]:
    helped = [one.assistance for one in tasks.work if one.assistance is not None]
    if campaign.assistance.hide_for > 0 and not helped:
        yield "assistance.hide_for: no task has assistance that could be hidden"
    judged = sum(one["machine"] is not None for one in helped)
    if campaign.assistance.machine is not None and judged < len(tasks.work):
        yield f"the machine's verdict stands beside {judged} of {len(tasks.work)} tasks; it has none on the others"
