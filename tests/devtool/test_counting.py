"""The closing line of ./dev test: what counts as passed, failed and skipped."""

import sys

import pytest
from devtool import testing, tree
from devtool.testing import Count

CTEST = """<testsuite tests="4">
  <testcase name="a" status="run"/>
  <testcase name="b" status="fail"><failure message=""/></testcase>
  <testcase name="c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
  <testcase name="d" status="disabled"/>
</testsuite>"""
PYTEST = """<testsuites><testsuite name="pytest">
  <testcase name="a"/>
  <testcase name="b"><properties/></testcase>
  <testcase name="c"><skipped type="pytest.skip" message="why"/></testcase>
  <testcase name="d"><error message="set-up"/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("text", "total"), [(CTEST, Count(1, 1, 2)), (PYTEST, Count(2, 1, 1)), ("<testsuite/>", Count())]
)
def test_count(tmp_path, text, total):
    results = tmp_path / "results.xml"
    results.write_text(text)
    assert testing.count(results) == total


SKIPS = """<testsuite>
  <testcase name="a"><skipped type="pytest.skip" message="no CUDA device">x.py:3</skipped></testcase>
  <testcase name="b"><skipped message="collection skipped">no library of launchers</skipped></testcase>
  <testcase name="c"><skipped type="pytest.xfail" message="a gap"/></testcase>
  <testcase name="d"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
    <system-out>cuda_test.cpp:25: Skipped no CUDA device</system-out></testcase>
  <testcase name="torch"><skipped type="pytest.skip" message="torch is not installed"/></testcase>
  <testcase name="binary" status="notrun"><skipped message="Unable to find executable"/></testcase>
  <testcase name="off" status="disabled"/>
</testsuite>"""


def test_only_a_missing_device_excuses_a_skip_where_all_was_prepared(tmp_path, capsys):
    results = tmp_path / "results.xml"
    results.write_text(SKIPS)
    assert testing.count(results) == Count(0, 0, 7)
    assert testing.count(results, prepared=True) == Count(0, 3, 4)
    said = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in said] == ["torch", "binary", "off"]


def runner(results, text, status):
    script = f"import sys; open({str(results)!r}, 'w').write({text!r}); sys.exit({status})"
    return [sys.executable, "-c", script]


@pytest.mark.parametrize(
    ("text", "status", "total", "said"),
    [
        ("<testsuite><testcase name='a'/></testsuite>", 0, Count(1), ""),
        ("<testsuite><testcase name='a'/></testsuite>", 3, Count(1, 1), "status 3 although no test"),
        (CTEST, 8, Count(1, 1, 2), ""),
        ("<testsuite/>", 0, Count(0, 1), "ran no test"),
        ("", 0, Count(0, 1), "left no results"),
        ("<testsuite>", 0, Count(0, 1), "left no results"),
    ],
)
def test_run(tmp_path, capsys, text, status, total, said):
    results = tmp_path / "results.xml"
    assert testing.run_counted("it", runner(results, text, status), results, {}) == total
    assert said in capsys.readouterr().err


def test_results_of_an_earlier_run_do_not_count(tmp_path):
    results = tmp_path / "results.xml"
    results.write_text("<testsuite><testcase name='a'/></testsuite>")
    assert testing.run_counted("it", [sys.executable, "-c", ""], results, {}) == Count(0, 1)


@pytest.mark.parametrize(
    ("total", "complaints", "status"),
    [(Count(3, 0, 1), [], 0), (Count(3, 1, 0), [], 1), (Count(3), ["not formatted"], 1)],
)
def test_report_ends_with_the_sum(capsys, total, complaints, status):
    assert testing.report(total, complaints) == status
    written = capsys.readouterr()
    assert written.out == f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped\n"
    assert all(complaint in written.err for complaint in complaints)


def test_what_a_runner_prints_comes_at_its_end_when_it_has_a_log(tmp_path, capsys):
    results, log = tmp_path / "results.xml", tmp_path / "log"
    script = f"print('said'); open({str(results)!r}, 'w').write('<a><testcase/></a>')"
    command = [sys.executable, "-c", script]
    assert testing.run_counted("it", command, results, {}, log=log) == Count(1)
    assert capsys.readouterr().out == log.read_text() == "said\n"


def test_every_python_test_is_in_one_part():
    folders = [folder for part in testing.parts().values() for folder in part]
    assert len(folders) == len(set(folders))
    for path in (tree.ROOT / "tests").rglob("test_*.py"):
        assert sum(path.is_relative_to(tree.ROOT / folder) for folder in folders) == 1, path
