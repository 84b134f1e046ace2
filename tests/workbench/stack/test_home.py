"""The home: secrets that are kept and private, logs that do not grow for ever, state that survives damage."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from workbench.stack import state
from workbench.stack.console import tail
from workbench.stack.errors import StackError
from workbench.stack.home import LOG_LIMIT_BYTES, Home, read_json, write_json
from workbench.stack.ports import ServicePorts
from workbench.stack.processes import Record
from workbench.stack.state import Mode, Phase, State


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


def test_the_home_is_the_given_folder_or_var(tmp_path: Path) -> None:
    assert Home.from_environment({}, tmp_path).root == tmp_path / "var"
    assert Home.from_environment({"WORKBENCH_HOME": f"{tmp_path}/x/../y"}, tmp_path).root == tmp_path / "y"


def test_nobody_else_can_list_the_home_or_read_what_it_holds(home: Home) -> None:
    assert stat.S_IMODE(home.root.stat().st_mode) & 0o066 == 0
    for folder in (home.run, home.logs, home.valkey, home.files):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_home_that_cannot_be_made_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StackError, match="WORKBENCH_HOME"):
        Home(tmp_path / "file" / "home").create()


def test_secrets_are_made_once_private_and_all_different(home: Home) -> None:
    assert home.find_secrets() is None
    made = home.secrets()
    assert home.secrets() == made == home.find_secrets()
    assert stat.S_IMODE(home.secrets_file.stat().st_mode) == 0o600
    values = [
        made.secret_key,
        made.superuser_password,
        made.owner_password,
        made.app_password,
        made.broker_password,
    ]
    assert len(set(values)) == 5
    assert len(made.secret_key) >= 50, "Django's deployment check asks for that"


def test_damaged_secrets_are_never_replaced_in_silence(home: Home) -> None:
    home.secrets_file.write_text('{"secret_key": "x"}')
    with pytest.raises(StackError, match="damaged"):
        home.secrets()
    assert home.secrets_file.read_text() == '{"secret_key": "x"}'


def test_only_large_logs_are_moved_aside_and_only_a_few_are_kept(home: Home) -> None:
    small, large = home.log("small"), home.log("large")
    for round_number in range(6):
        small.write_text("short")
        large.write_bytes(bytes([round_number]) * LOG_LIMIT_BYTES)
        home.rotate_logs()
    assert small.read_text() == "short"
    assert sorted(path.name for path in home.logs.glob("large*")) == [
        "large.log.1",
        "large.log.2",
        "large.log.3",
    ]
    assert home.logs.joinpath("large.log.1").read_bytes()[:1] == b"\x05"


def test_the_tail_of_a_log_is_its_last_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert "no log" in tail(log)
    log.write_text("\n".join(map(str, range(100))))
    assert tail(log, lines=2) == "    98\n    99"
    log.write_text("")
    assert "empty" in tail(log)


def test_json_is_written_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, {"a": 1})
    assert read_json(path) == {"a": 1}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]


def test_a_state_comes_back_as_it_was_written(tmp_path: Path) -> None:
    own = Record.of(os.getpid(), "supervisor", ((2, 5.0),))
    written = State(own, Mode.RUN, Phase.READY, ServicePorts(1, 2), "http://x/", "", (own,))
    written.write(tmp_path / "state")
    found = state.read(tmp_path / "state")
    assert found == written
    assert found.is_alive()


@pytest.mark.parametrize(
    "content", ["", "null", "[]", "{}", '{"supervisor": 3}', '{"supervisor": {"pid": "x"}}']
)
def test_a_damaged_state_is_no_state(tmp_path: Path, content: str) -> None:
    (tmp_path / "state").write_text(content)
    assert state.read(tmp_path / "state") is None


def test_a_child_replaces_its_predecessor_in_the_state() -> None:
    own = Record.of(os.getpid(), "supervisor")
    first, second = Record("web", 1, 0.0, ()), Record("web", 2, 0.0, ())
    changed = State(own, Mode.RUN).with_child(first).with_child(second)
    assert changed.children == (second,)
    assert changed.without_child("web").children == ()
