import pytest
from compare_fakes import configuration, of
from measure_fakes import abyss_kernel

from wavetank.compare.advice import advise
from wavetank.compare.decisions import decide
from wavetank.compare.idle_servers import idle_servers
from wavetank.compare.knobs import WHOLE_FILES, Knobs
from wavetank.compare.rank import rank
from wavetank.compare.words import three_digits
from wavetank.model.document.phase import LinearOffsets, PatternMember

KERNEL = abyss_kernel()


def advice(configurations, kernel=KERNEL):
    decisions = decide(configurations)
    return advise(
        "a",
        kernel,
        configurations,
        rank(configurations, "a", "time", decisions),
        decisions=decisions,
    )


def about(advices, topic):
    return [each for each in advices if each.about == topic]


def test_two_readers_of_four_are_an_obstacle_whatever_np_is():
    found = about(advice([configuration("nfs", [1.0])]), "application")
    assert any("2 of 4 ranks read" in each.sentence for each in found)


def mixed_kernel(header, block, n=3000):
    """One phase of one rank: a header before each block."""
    kernel = abyss_kernel()
    (plain, *_) = kernel.phases
    step = header + block
    members = tuple(
        PatternMember(iop_type="write", rs=rs, disp=step, dist=(0, 2)) for rs in (header, block)
    )
    mixed = plain.model_copy(
        update={
            "ph_weight": n * step, "ph_nrep": n, "ph_niop": 2 * n, "pattern": members,
            "offset": (LinearOffsets(a=0, b=step, c=0), LinearOffsets(a=0, b=step, c=header)),
        }
    )  # fmt: skip
    return kernel.model_copy(update={"phases": (mixed,), "n_ranks": 1})


def test_a_phase_of_headers_and_large_blocks_is_not_called_one_of_small_requests():
    # 8 kB and 4 MiB: 8000 / (8000 + 4194304) = 0.2 % of the bytes are in requests below 64 KiB.
    found = advice([configuration("nfs", [1.0])], kernel=mixed_kernel(8000, 4 << 20))
    assert not any("64.0 KiB" in each.sentence for each in found)


def test_the_small_requests_of_a_phase_are_told_by_their_own_share():
    # 8 kB and 64 KiB: 8000 / (8000 + 65536) = 10.9 % of the bytes, half of the operations.
    found = advice([configuration("nfs", [1.0])], kernel=mixed_kernel(8000, 64 << 10))
    (small,) = [each for each in found if "64.0 KiB" in each.sentence]
    assert "3,000 requests" in small.sentence
    assert "50 % of the operations, which move 11 % of the bytes" in small.sentence


def test_small_requests_are_named_with_their_size_and_rate():
    found = about(advice([configuration("nfs", [1.0])]), "application")
    (small,) = [each for each in found if "64.0 KiB" in each.sentence]
    assert "8,191 B" in small.sentence
    assert any("phase 1" in each and "100.0 MB/s" in each for each in small.evidence)


def test_no_cause_is_named_that_was_not_measured():
    found = advice([used(30.0)])
    assert not any("one server at a time" in each.sentence for each in found)


def test_few_repetitions_are_said_with_what_they_cannot_show():
    # Three and three are apart by chance in 2 of 20 cases, four and four in 2 of 70.
    three = [configuration("nfs", [1.0, 1.1, 1.2]), configuration("gl", [5.0, 5.1, 5.2])]
    (doubt,) = about(advice(three), "measurement")
    assert doubt.sentence.startswith("With 3 repetitions nothing can be told apart")
    assert "4 repetitions of each configuration could" in doubt.sentence
    four = [configuration("nfs", [1.0] * 4), configuration("gl", [5.0] * 4)]
    assert about(advice(four), "measurement") == []


def test_few_repetitions_of_one_of_three_are_said_as_the_pairs_that_they_blind():
    mixed = [
        configuration(name, [float(k)] * n)
        for k, (name, n) in enumerate({"a": 5, "b": 5, "c": 2}.items(), 1)
    ]
    (doubt,) = about(advice(mixed), "measurement")
    assert doubt.sentence.startswith("With 2 repetitions not every pair can be told apart")
    assert "pairs with too few repetitions: 2 of 3" in doubt.evidence


def test_nothing_measured_gives_no_advice():
    assert advice([]) == ()


def used(usage, **more):
    plain = configuration("nfs", [1.0, 1.1, 1.2], **more)
    return plain.model_copy(update={"usage_percent": of(usage)})


def test_storage_at_its_peak_is_named_as_the_limit():
    advices = advice([used(96.0), configuration("gl", [2.0, 2.1, 2.2])])
    (limit,) = about(advices, "cluster")
    assert "limit on nfs" in limit.sentence and "96 % of the peak" in limit.evidence[0]


def test_small_requests_are_told_with_how_far_the_storage_is_used_all_the_same():
    def sentence(usage):
        found = about(advice([used(usage)]), "application")
        return next(each.sentence for each in found if "64.0 KiB" in each.sentence)

    assert "Larger buffers" in sentence(30.0) and "30 % of its storage's peak" in sentence(30.0)
    assert "Larger buffers" not in sentence(96.0) and "96 % of its peak" in sentence(96.0)
    assert "page caches" in sentence(250.0)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.00019847, "0.000198"), (12.345, "12.3"), (484321.0, "484,000"), (0, "0"), (9.999, "10.00")],
)
def test_numbers_have_three_digits_and_no_powers_of_ten(value, shown):
    assert three_digits(value) == shown


def test_a_rate_above_the_peak_is_called_one_of_caches_and_not_a_full_storage():
    found = advice([used(250.0)])
    sentences = " ".join(each.sentence for each in found)
    assert "page caches" in sentences
    assert "The storage itself is the limit" not in sentences


def of_files(n):
    """The kernel with data of so many files, a phase each."""
    (first, *_) = KERNEL.phases
    files = tuple(
        KERNEL.files[0].model_copy(update={"file_id": k, "members": None}) for k in range(1, n + 1)
    )
    phases = tuple(first.model_copy(update={"ph_id": k, "file_id": k}) for k in range(1, n + 1))
    return KERNEL.model_copy(update={"files": files, "phases": phases})


@pytest.mark.parametrize(("n_files", "layout", "told"), [
    (1, WHOLE_FILES, True), (2, WHOLE_FILES, False), (1, "sharded", False), (1, "1DFx1F", False),
])  # fmt: skip
def test_a_server_that_holds_no_file_is_said_to_take_no_part(n_files, layout, told):
    knobs = {
        "gl": Knobs({"data servers": "2", "layout": layout}),
        "nfs": Knobs({"data servers": "1"}),
    }
    pair = [configuration("nfs", [1.0]), configuration("gl", [1.0])]
    found = idle_servers("a", of_files(n_files), pair, knobs)
    assert bool(found) == told
    assert not told or "gl: 1 data server never took part" in found[0].sentence
