"""Configurations with chosen numbers, for ranking and advice."""

from wavetank.compare.configuration import Configuration, Cost, PhaseEstimate
from wavetank.compare.metrics import configuration_id
from wavetank.measure.statistics import estimate
from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Boundaries, Model, Requirements


def of(*values):
    return estimate(list(values))


def configuration(
    cluster, times, *, costs=None, mapping="1PxCN", n_instances=6, application="a", title=None
):
    rates = [200e6 / time for time in times]
    return Configuration(
        id=configuration_id(application, cluster, mapping),
        application=application,
        cluster=cluster,
        cluster_title=title or cluster,
        mapping=mapping,
        instance_type="c3.2xlarge",
        n_instances=n_instances,
        origin="measured under emulated limits",
        cache="cold",
        n_repetitions=len(times),
        weight_bytes=200_000_000,
        phases=tuple(
            PhaseEstimate(
                ph_id=ph_id,
                operation="read",
                file_name=f"reads{ph_id}.fastq",
                rs=8191,
                ranks=(ph_id - 1,),
                weight_bytes=100_000_000,
                rate_bytes_per_s=of(*[rate / 2 for rate in rates]),
                iops=of(*[rate / 2 / 8191 for rate in rates]),
                time_s=of(*times),
            )
            for ph_id in (1, 2)
        ),
        io_time_s=of(*times),
        phase_time_sum_s=of(*[2 * time for time in times]),
        rate_bytes_per_s=of(*rates),
        read_bytes_per_s=of(*[rate / 2 for rate in rates]),
        write_bytes_per_s=None,
        iops=of(*[rate / 8191 for rate in rates]),
        cost=None
        if costs is None
        else Cost(
            price_inst_per_h="0.42",
            n_instances=n_instances,
            instances={"c3.2xlarge": n_instances},
            cost_var=of(*costs),
            cost_fix="0",
            cost_tot=of(*costs),
            billed="2.52",
            perf_cost=of(*[rate / 1e6 / cost for rate, cost in zip(rates, costs, strict=True)]),
        ),
        cost_missing=None if costs else "no price table was given",
        settings={},
        limits={},
    )


def model_file(file_id, name):
    return ModelFile(
        file_id=file_id, file_name=name, file_size=1, file_size_weights=1,
        file_size_highest_offset=1, file_np=1, file_accessmode="sequential",
        file_fileaccesstype="R", file_accesstype="unique", file_nphase=1, n_operations=1,
        n_sequential=1, n_consecutive=1,
    )  # fmt: skip


def own_run(kernel, io_time_s=1.0):
    """A model of the application itself, whose ranks spent this long in each phase's operations."""
    phases = tuple(
        phase.model_copy(
            # From start to end it also computed.
            update={"io_time_s": io_time_s, "start_s": 0.0, "end_s": 60.0}
        )
        for phase in kernel.phases
    )
    size = sum(phase.ph_weight for phase in phases)
    return Model(
        provenance=kernel.provenance, application="ABYSS-P", command=(), source="wavetank",
        n_ranks=kernel.n_ranks, app_np=2, app_nfiles=2, app_st=size, elapsed_s=60.0,
        boundaries=Boundaries(
            split_at_communication={}, split_at_computation_s=None, similarity=None
        ),
        requirements=Requirements(
            storage_capacity_bytes=size, n_processes=kernel.n_ranks,
            needs_global_file_system=False, reached_read_bytes_per_s=None,
            reached_write_bytes_per_s=None,
        ),
        files=tuple(model_file(file.file_id, file.name) for file in kernel.files), phases=phases, series=(), programs=(), timeline=(),
    )  # fmt: skip
