import pytest

from wavetank.model.events.program_name import program_name


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("mpirun -np 4 ./bt.B.4.mpi_io_full", "bt.B.4.mpi_io_full"),
        ("mpirun.openmpi -q -np 4 --oversubscribe ./app input", "app"),
        ("srun -N1 -w n1 -n2 --mpi=pmix ./h", "h"),
        ("srun -J job --qos high --time 10 ./a.out", "a.out"),
        ("env A=1 python3 -u run.py", "run.py"),
        ("mpirun -n 2 python3 -c import(os) /tmp/x", "python3"),
        ("python3 -m pkg.tool in", "pkg.tool"),
        ("sh -ec ./a;./b", "sh"),
        ("sh -e ./job", "job"),
        ("perl -e print", "perl"),
        ("", "application"),
    ],
)
def test_the_program_stands_behind_its_launcher_and_the_values_of_options(command, name):
    assert program_name(command.split()) == name
