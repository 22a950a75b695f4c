import pytest
from compare_fakes import configuration, own_run
from measure_fakes import MB, abyss_kernel

from wavetank.compare.own_run import own_run_errors
from wavetank.errors import ModelError

KERNEL = abyss_kernel(weight=100 * MB)


def test_the_error_is_relative_to_the_application():
    # Kernel: 200 MB in 1 s, each phase at 100 MB/s. Application: 100 MB in 0.8 s, 125 MB/s.
    errors = own_run_errors(configuration("nfs", [1.0, 1.0, 1.0]), KERNEL, own_run(KERNEL, 0.8))
    assert [error.ph_id for error in errors] == [1, 2]
    assert errors[0].application_bytes_per_s == pytest.approx(125 * MB)
    assert errors[0].error_percent == pytest.approx(20.0)  # 25 of 125
    assert errors[0].application_s == 0.8  # without its computation


def test_without_times_in_the_trace_there_is_no_error():
    assert own_run_errors(configuration("nfs", [1.0]), KERNEL, own_run(KERNEL, None)) == ()


def test_a_run_on_other_input_is_refused():
    with pytest.raises(ModelError, match="another application or input"):
        own_run_errors(
            configuration("nfs", [1.0]), KERNEL, own_run(abyss_kernel(weight=50 * MB), 0.8)
        )
