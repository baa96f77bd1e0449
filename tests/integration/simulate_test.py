# SPDX-License-Identifier: Apache-2.0
"""muster simulate: the README's example of a fault file, the story and exit code, and what is said of bad files."""

import os
import re
import tempfile

from muster_case import SOURCE_DIR, binary, run

SIMULATE = binary("muster-simulate")


def example_of_the_readme():
    """The fault file and the command line that rendezvous/README.md shows."""
    with open(os.path.join(SOURCE_DIR, "rendezvous", "README.md"), encoding="utf-8") as page:
        text = page.read()
    block = re.search(r"```sh\ncat > faults\.txt <<'END'\n(.*?)END\nmuster simulate ([^\n]*)\n```", text, re.S)
    assert block, "rendezvous/README.md shows a fault file for muster simulate"
    return block.group(1), block.group(2).split()


def with_faults(text, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "faults.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return run([SIMULATE, *(path if word == "faults.txt" else word for word in options)])


def test_the_example_of_the_readme_is_played():
    faults, options = example_of_the_readme()
    status, output = with_faults(faults, *options)
    assert status == 0, output
    for line in faults.splitlines():
        words = line.split("#")[0].split()
        if words:
            moment = next((told for told in output.splitlines() if told.split()[1:3] == ["--", words[1]]), None)
            assert moment and float(moment.split()[0]) == float(words[0]), f"{line!r} strikes when it is to, in\n{output}"
    assert "success" in output.splitlines()[-1], output


def test_the_same_seed_tells_the_same_story():
    faults, options = example_of_the_readme()
    assert with_faults(faults, *options) == with_faults(faults, *options)
    assert with_faults(faults, *options) != with_faults(faults, *("8" if word == "7" else word for word in options))


def test_a_file_without_faults_is_no_bad_file():
    for text in ("", "# none\n"):
        status, output = with_faults(text, "--nodes", "2", "--faults", "faults.txt")
        assert status == 0 and "success" in output.splitlines()[-1], output
    status, output = run([SIMULATE, "--nodes", "2", "--faults", tempfile.gettempdir()])
    assert status == 2 and output.count("\n") == 1 and "cannot read the fault file" in output, output


def test_a_bad_file_gets_one_line_with_the_number_of_its_own():
    for text, number, seen in [
        ("5 heal\n# fine\n6 explode h1\n", 3, "'explode' is no fault"),
        ("5 power h9\n", 1, "no node is called 'h9'"),
        ("\n\nsoon heal\n", 3, "expected seconds"),
        ("1e300 heal\n", 1, "expected seconds"),
        ("5 partition h1 h2\n", 1, "expected '|'"),
        ("5\n", 1, "nothing follows the time"),
    ]:
        status, output = with_faults(text, "--nodes", "3", "--faults", "faults.txt")
        assert status == 2, (text, status, output)
        assert len(output.splitlines()) == 1, (text, output)
        assert f"faults.txt, line {number}: " in output and seen in output, (text, output)
    status, output = run([SIMULATE, "--nodes", "3", "--faults", "/nowhere/faults.txt"])
    assert status == 2 and "cannot read the fault file /nowhere/faults.txt" in output, output


def test_a_job_that_is_not_described_whole_is_refused():
    status, output = run([SIMULATE, "--min", "2"])
    assert status == 2 and "--nodes" in output, output
    status, output = run([SIMULATE, "--nodes", "2", "--min", "3"])
    assert status == 2 and "--min 3 does not fit" in output, output


def test_many_seeds_are_summed_up():
    status, output = run([SIMULATE, "--seeds", "50"])
    assert status == 0 and "50 histories" in output and "0 broke an invariant" in output, output


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print(f"{name}: passed", flush=True)
