"""The scripts of `ci/` for GitHub and GitLab, with a git repository and a stub of the servers on 127.0.0.1."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from aiohttp import web
from models.server import Background

from summeter.cli.pull_request import PullRequest, at_commit, comment

MARK = "<!-- summeter data/summaries.jsonl -->"


class Comments(Background):
    """A server with the comments of one pull request, of which a page lists at most 100. Only `token` may write."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token
        self.bodies: list[str] = []
        self.written: list[tuple[str, str]] = []

    def application(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        return app

    async def _answer(self, request: web.Request) -> web.Response:
        if request.method == "GET":
            start = (int(request.query["page"]) - 1) * int(request.query["per_page"])
            listed = [{"id": number, "body": body} for number, body in enumerate(self.bodies)]
            return web.json_response(listed[start : start + 100])
        if self.token not in (request.headers.get("Authorization"), request.headers.get("PRIVATE-TOKEN")):
            return web.json_response({"message": "read only"}, status=403)
        self.written.append((request.method, request.path))
        body = (await request.json())["body"]
        if request.method == "POST":
            self.bodies.append(body)
        else:
            self.bodies[int(request.path.rpartition("/")[2])] = body
        return web.json_response({})


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A checkout in which the summaries of 8 documents became wrong, and the commit in which they were right."""
    folder = tmp_path_factory.mktemp("repository")

    def write(text: str) -> str:
        rows = [
            {
                "doc_id": f"d{at}",
                "document": f"Bridge {at} closes for 14 months. It rained.",
                "summary": text.format(at),
            }
            for at in range(8)
        ]
        (folder / "data").mkdir(exist_ok=True)
        (folder / "data" / "summaries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        git("add", "-A")
        git("-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "-qm", text)
        return git("rev-parse", "HEAD").strip()

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout

    git("init", "-q")
    base = write("Bridge {} closes for 14 months.")
    write("Bridge {} closes for 41 months.")
    return folder, base


def run(script: str, folder: Path, scratch: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a shell script of a CI job in a checkout, with this Python."""
    bin_ = scratch / "summeter" / "bin"
    bin_.mkdir(parents=True)
    (bin_ / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (bin_ / "python").chmod(0o755)
    others = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "CI_"))}
    environment = {**others, "PATH": f"{bin_}:{os.environ['PATH']}", "RUNNER_TEMP": str(scratch), **variables}
    return subprocess.run(
        ["bash", "-ec", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_github(repository: tuple[Path, str], tmp_path: Path, root: Path) -> None:
    folder, base = repository
    event, summary, out = tmp_path / "event.json", tmp_path / "summary.md", tmp_path / "out"
    event.write_text(json.dumps({"pull_request": {"number": 7, "base": {"sha": base}}}))
    action = yaml.safe_load((root / "ci" / "action.yml").read_text("utf-8"))
    inputs = {name: each.get("default", "") for name, each in action["inputs"].items()}
    inputs |= {"data": "data/summaries.jsonl", "token": "secret", "max-drop": "faithfulness=0.02", "output": str(out)}
    (step,) = (each for each in action["runs"]["steps"] if "pull_request" in each.get("run", ""))
    variables = {
        name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], value)
        for name, value in step["env"].items()
    }
    with Comments("Bearer secret") as server:
        variables |= {
            "GITHUB_EVENT_PATH": str(event), "GITHUB_API_URL": server.root, "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_SERVER_URL": "https://example.org", "GITHUB_RUN_ID": "9",
        }  # fmt: skip
        done = run(step["run"], folder, tmp_path, variables)
    assert done.returncode == 3, done.stderr
    assert server.written == [("POST", "/repos/owner/name/issues/7/comments")]
    (body,) = server.bodies
    assert body.startswith(MARK)
    assert "gate not passed: 1 of 1 checks" in body
    assert "[this job](https://example.org/owner/name/actions/runs/9)" in body
    assert body == f"{MARK}\n{summary.read_text('utf-8')}"
    (upload,) = (each for each in action["runs"]["steps"] if "upload-artifact" in each.get("uses", ""))
    for path in upload["with"]["path"].splitlines():
        assert (out / Path(path).name).is_file()
    assert ElementTree.parse(out / "gate.xml").getroot()[0].get("failures") == "1"
    assert "Bridge 3 closes for 41 months." in (out / "report.html").read_text("utf-8")


def test_gitlab(repository: tuple[Path, str], tmp_path: Path, root: Path) -> None:
    folder, base = repository
    job = yaml.safe_load((root / "ci" / "gitlab.yml").read_text("utf-8"))["summeter"]
    variables = {**job["variables"], "SUMMETER_DATA": "data/summaries.jsonl", "SUMMETER_MAX_DROP": "faithfulness=1"}
    with Comments("secret") as server:
        server.bodies = ["first"] * 104
        server.bodies[102] = f"{MARK}\nearlier"
        variables |= {
            "SUMMETER_TOKEN": "secret", "CI_API_V4_URL": server.root, "CI_PROJECT_ID": "5", "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": base, "CI_JOB_URL": "https://example.org/9",
        }  # fmt: skip
        done = run(job["script"][-1], folder, tmp_path, variables)
    assert done.returncode == 0, done.stderr
    assert server.written == [("PUT", "/projects/5/merge_requests/7/notes/102")]
    assert "gate passed: 1 check" in server.bodies[102]
    for path in (*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]):
        assert (folder / path).is_file()


def test_a_failure_replaces_the_comment(repository: tuple[Path, str], tmp_path: Path) -> None:
    done = run(f"python -m summeter.cli.pull_request none.jsonl -o {tmp_path}", repository[0], tmp_path, {})
    assert done.returncode == 2
    text = (tmp_path / "comment.md").read_text("utf-8")
    assert f"`summeter score none.jsonl -e support -o {tmp_path}/run` failed with exit code 2" in text


def test_a_drop_without_a_baseline_is_stated(repository: tuple[Path, str], tmp_path: Path) -> None:
    words = f"data/summaries.jsonl --max-drop faithfulness=0.02 -o {tmp_path}"
    done = run(f"python -m summeter.cli.pull_request {words}", repository[0], tmp_path, {})
    assert done.returncode == 0, done.stderr
    assert "drops (faithfulness=0.02) were not checked" in done.stdout
    assert "drops (faithfulness=0.02) were not checked" in (tmp_path / "comment.md").read_text("utf-8")


def request(server: Comments, token: str = "secret") -> PullRequest:
    notes = f"{server.root}/comments"
    return PullRequest("", "https://example.org", notes, notes, "PATCH", {"Authorization": token} if token else {})


def test_a_token_that_may_only_read_does_not_fail_the_job(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Comments("secret") as server:
        comment(["text"], "data", tmp_path, request(server, "other"))
        assert "403" in capsys.readouterr().err
        comment(["text"], "data", tmp_path, request(server, ""))
        assert server.written == []
        server.bodies.append("> <!-- summeter data -->\nThis quotes the comment.")
        comment(["text"], "data", tmp_path, request(server))
        comment(["x" * 70 + "\n"] * 1000, "data", tmp_path, request(server))
        comment(["text"], "other data", tmp_path, request(server))
    assert [method for method, _ in server.written] == ["POST", "PATCH", "POST"]
    # Long comments are cut at a line.
    assert len(server.bodies[1]) < 65_536
    assert "x\n\n...\n\nThe page" in server.bodies[1]


def test_data_of_an_earlier_commit(
    repository: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, base = repository
    monkeypatch.chdir(folder)
    found = at_commit("data/summaries.jsonl", base, tmp_path / "base")
    assert found is not None
    assert "14 months" in found.read_text("utf-8").splitlines()[0].partition("summary")[2]
    assert at_commit("data", base, tmp_path / "folder") == tmp_path / "folder" / "data"
    other = at_commit(str(folder / "data" / "summaries.jsonl"), base, tmp_path / "absolute")
    assert other is not None
    assert other.read_bytes() == found.read_bytes()
    assert at_commit("new.jsonl", base, tmp_path / "none") is None
    with pytest.raises(SystemExit, match="cannot be fetched"):
        at_commit("data", "0" * 40, tmp_path / "none")


def test_a_job_without_a_pull_request(tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text("{}")
    variables: dict[str, Any] = {"GITHUB_EVENT_PATH": str(event), "CI": "true"}
    assert PullRequest.of(variables) is None
    assert PullRequest.of({}) is None


def test_an_id_with_a_name_notifies_nobody(tmp_path: Path) -> None:
    comment(["# Changed: @lee, 3 @ 5"], "data.jsonl", tmp_path, None)
    assert (tmp_path / "comment.md").read_text("utf-8") == "#### Changed: @\u200blee, 3 @ 5"
