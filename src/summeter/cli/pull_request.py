"""Judge the summaries of a pull request, compare them with those of its base, and comment the result.

    python -m summeter.cli.pull_request summaries.jsonl --min faithfulness=0.8 --max-drop faithfulness=0.02

The GitHub Action in `ci/action.yml` and the GitLab job in `ci/gitlab.yml` run this module. It writes the runs, the page
`report.html`, `comment.md` and the JUnit file `gate.xml` to a folder, and exits with the exit code of `summeter gate`.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from urllib.request import Request, urlopen

import typer

from summeter.cli.main import main as command

LONGEST = 60_000
"""Maximum number of characters of a comment; GitHub accepts 65,536."""


class PullRequest(NamedTuple):
    """A pull request (or merge request): where its comments are, and how they are written.

    `commit` is the commit with which it is compared, and `job` the address of the job.
    """

    commit: str
    job: str
    comments: str
    comment: str
    edit: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> PullRequest | None:
        """Return the pull request that the variables of a CI job describe, or None if there is none."""
        token = variables.get("SUMMETER_TOKEN", "")
        if event := variables.get("GITHUB_EVENT_PATH"):
            request = json.loads(Path(event).read_text("utf-8")).get("pull_request")
            if request is None:
                return None
            issues = f"{variables['GITHUB_API_URL']}/repos/{variables['GITHUB_REPOSITORY']}/issues"
            headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"} if token else {}
            job = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}".format_map(variables)
            comments, commit = f"{issues}/{request['number']}/comments", request["base"]["sha"]
            return cls(commit, job, comments, f"{issues}/comments", "PATCH", headers)
        if number := variables.get("CI_MERGE_REQUEST_IID"):
            project = f"{variables['CI_API_V4_URL']}/projects/{variables['CI_PROJECT_ID']}"
            notes = f"{project}/merge_requests/{number}/notes"
            headers = {"PRIVATE-TOKEN": token} if token else {}
            commit, job = variables["CI_MERGE_REQUEST_DIFF_BASE_SHA"], variables["CI_JOB_URL"]
            return cls(commit, job, notes, notes, "PUT", headers)
        return None

    def write(self, mark: str, body: str) -> None:
        """Write a comment, or replace an earlier comment that starts with `mark`."""
        page, earlier = 1, None
        while earlier is None and (listed := self._call("GET", f"{self.comments}?per_page=100&page={page}")):
            earlier = next((each["id"] for each in listed if (each["body"] or "").startswith(mark)), None)
            page += 1
        if earlier is None:
            self._call("POST", self.comments, body)
        else:
            self._call(self.edit, f"{self.comment}/{earlier}", body)

    def _call(self, method: str, url: str, body: str | None = None) -> Any:
        data = None if body is None else json.dumps({"body": body}).encode()
        headers = {**self.headers, "Content-Type": "application/json"}
        with urlopen(Request(url, data, headers, method=method), timeout=30) as reply:  # noqa: S310 - the CI server's address
            return json.load(reply)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def pull_request(
    data: Annotated[str, typer.Argument(metavar="DATA", help="Data to judge, as for `summeter score`.")],
    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN|DATA", help="Run, or data to judge. Default: DATA in the base of the pull request."),
    ] = None,
    score: Annotated[str, typer.Option(help="Options of `summeter score`.")] = "-e support",
    least: Annotated[str, typer.Option("--min", help="Bounds of `summeter gate`, separated by spaces.")] = "",
    max_drop: Annotated[str, typer.Option(help="Largest drops below the baseline, separated by spaces.")] = "",
    gate: Annotated[str, typer.Option(help="Further options of `summeter gate`, such as --on lower-bound.")] = "",
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder of the results.")] = Path("summeter-report"),
) -> None:
    """Judge the summaries of a pull request, compare them with those of its base, and comment the result."""
    request = PullRequest.of(os.environ)
    run, page, body = out / "run", out / "report.html", [f"# summeter: `{data}`"]
    out.mkdir(parents=True, exist_ok=True)

    def summeter(*words: object, allowed: Sequence[int] = (0,)) -> int:
        """Run a command of summeter and return its exit code. Comments and exits if the code is not allowed."""
        text = f"summeter {shlex.join(map(str, words))}"
        typer.echo(f"$ {text}")
        try:
            command([str(word) for word in words])
        except SystemExit as end:
            code = int(end.code or 0)
        if code not in allowed:
            comment(
                [*body, f"`{text}` failed with exit code {code}. The log of the job has the message."],
                data,
                out,
                request,
            )
            sys.exit(code)
        return code

    summeter("score", data, *shlex.split(score), "-o", run)
    earlier = None if not baseline else Path(baseline)
    if earlier is None and request is not None:
        earlier = at_commit(data, request.commit, out / "base")
        if earlier is None:
            body.append(f"`{data}` is not in the base of this pull request, so there is nothing to compare with.")
    if earlier is not None and not (earlier / "run.json").exists():
        summeter("score", earlier, *shlex.split(score), "-o", out / "baseline")
        earlier = out / "baseline"
    bounds: list[object] = [word for bound in least.split() for word in ("--min", bound)]
    if earlier is not None and max_drop:
        bounds += ["--baseline", earlier, *(word for bound in max_drop.split() for word in ("--max-drop", bound))]
    elif max_drop:
        unchecked = f"There is no baseline, so drops ({max_drop}) were not checked."
        typer.echo(unchecked)
        body.append(unchecked)
    code = 0
    if bounds:
        for file in ("gate.xml", "gate.md"):
            code = summeter("gate", run, *bounds, *shlex.split(gate), "-o", out / file, allowed=(0, 3, 4))
        body.append((out / "gate.md").read_text("utf-8"))
    if earlier is not None:
        summeter("compare", earlier, run, "-o", out / "compare.md")
        body.append((out / "compare.md").read_text("utf-8"))
    summeter("report", *filter(None, (earlier, run)), "-o", page)
    comment(body, data, out, request)
    raise typer.Exit(code)


def at_commit(data: str, commit: str, folder: Path) -> Path | None:
    """Write the data of an earlier commit to a folder, and return their path, or None if the commit has none."""
    data = os.path.relpath(data)  # joined with an absolute path, `folder` would have no effect

    def git(*words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([shutil.which("git") or "git", *words], capture_output=True, check=False)  # noqa: S603

    if git("cat-file", "-e", f"{commit}^{{commit}}").returncode:
        fetched = git("fetch", "--depth=1", "origin", commit)
        if fetched.returncode:
            sys.exit(f"the base commit {commit} cannot be fetched: {fetched.stderr.decode()}")
    archive = git("archive", "--format=tar", commit, "--", data)
    if archive.returncode:
        return None
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder / data


def comment(body: Sequence[str], data: str, out: Path, request: PullRequest | None) -> None:
    """Write the comment to a file, to the summary of the job, and to the pull request."""
    mark = f"<!-- summeter {data} -->"
    text = re.sub("^(?=#+ )", "###", "\n\n".join(body), flags=re.MULTILINE)
    text = re.sub(r"@(?=\w)", "@\u200b", text)  # otherwise, an id such as @name notifies a person
    if len(text) > LONGEST:
        text = text[: text.rindex("\n", 0, LONGEST)].rstrip() + "\n\n..."
    if request is not None:
        text = f"{text.rstrip()}\n\nThe page with all summaries is an artifact of [this job]({request.job}).\n"
    (out / "comment.md").write_text(text, "utf-8")
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(text)
    if request is None:
        typer.echo("This job is not for a pull request, so nothing is commented.")
    elif not request.headers:
        typer.echo("Nothing is commented, because there is no token in SUMMETER_TOKEN.")
    else:
        try:
            request.write(mark, f"{mark}\n{text}")
        except OSError as error:
            # The token of a pull request from a fork may only read, or the server does not answer.
            typer.echo(f"warning: the comment cannot be written: {error}", err=True)


if __name__ == "__main__":
    app()
