"""Write two paired FASTQ files of synthetic reads from a seeded random genome.

The files have the shape that the assembler's users feed it: 100-base reads, one file for the
forward and one for the reverse-complemented ends of random fragments. Errors are rare, so that
assembling takes seconds; what is studied is how the program reads, not what it finds.

Example: python generate_reads.py --directory work --pairs 120000 --seed 20160
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt

BASES = np.frombuffer(b"ACGT", dtype=np.uint8)
COMPLEMENT = np.zeros(256, dtype=np.uint8)
COMPLEMENT[BASES] = BASES[::-1]
READ_LENGTH = 100  # bases
FRAGMENT_LENGTH = 300  # bases between the outer ends of a pair
CHUNK = 20_000  # pairs written at once


def random_genome(n_bases: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """A genome of independent, equally likely bases, as ASCII codes, shape (n_bases,)."""
    return BASES[rng.integers(0, 4, n_bases)]


def with_errors(
    reads: npt.NDArray[np.uint8], fraction: float, rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Replace one base in a ``fraction`` of the reads, shape (n_reads, READ_LENGTH)."""
    reads = reads.copy()
    (wrong,) = np.nonzero(rng.random(len(reads)) < fraction)
    where = rng.integers(0, READ_LENGTH, len(wrong))
    # The next base in ACGT's order is always another one than what was there.
    codes = np.searchsorted(BASES, reads[wrong, where])
    reads[wrong, where] = BASES[(codes + 1) % 4]
    return reads


def fastq(first_pair: int, end: int, reads: npt.NDArray[np.uint8]) -> bytes:
    """FASTQ records: identifier, bases, '+', quality (one letter a base)."""
    quality = b"I" * READ_LENGTH
    return b"".join(
        b"@synthetic.%08d/%d\n%b\n+\n%b\n" % (first_pair + i, end, read.tobytes(), quality)
        for i, read in enumerate(reads)
    )


def write_reads(
    directory: Path, pairs: int, genome_bases: int, error_fraction: float, seed: int
) -> None:
    """Write reads1.fastq and reads2.fastq whole, or neither."""
    rng = np.random.default_rng(seed)
    genome = random_genome(genome_bases, rng)
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / "reads1.fastq", directory / "reads2.fastq"]
    partial = [path.with_suffix(".partial") for path in paths]
    with partial[0].open("wb") as forward, partial[1].open("wb") as reverse:
        for first in range(0, pairs, CHUNK):
            count = min(CHUNK, pairs - first)
            starts = rng.integers(0, genome_bases - FRAGMENT_LENGTH + 1, count)
            columns = np.arange(READ_LENGTH)
            left = genome[starts[:, None] + columns]
            right = COMPLEMENT[genome[starts[:, None] + FRAGMENT_LENGTH - 1 - columns]]
            forward.write(fastq(first, 1, with_errors(left, error_fraction, rng)))
            reverse.write(fastq(first, 2, with_errors(right, error_fraction, rng)))
        for stream in (forward, reverse):
            stream.flush()
            os.fsync(stream.fileno())
    for source, target in zip(partial, paths, strict=True):
        source.replace(target)


def main() -> None:
    """Parse the command line and write the files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--directory", type=Path, default=Path(), help="where to write reads1.fastq, reads2.fastq"
    )
    parser.add_argument(
        "--pairs", type=int, default=120_000, help="number of read pairs (225 bytes a read)"
    )
    parser.add_argument(
        "--genome", type=int, default=20_000, metavar="BASES", help="length of the genome"
    )
    parser.add_argument(
        "--errors", type=float, default=0.0005, help="fraction of reads with one wrong base"
    )
    parser.add_argument("--seed", type=int, default=20160, help="of the random generator")
    arguments = parser.parse_args()
    if arguments.pairs < 1 or arguments.genome < FRAGMENT_LENGTH or not 0 <= arguments.errors <= 1:
        parser.error(f"needs --pairs >= 1, --genome >= {FRAGMENT_LENGTH}, 0 <= --errors <= 1")
    write_reads(
        arguments.directory, arguments.pairs, arguments.genome, arguments.errors, arguments.seed
    )


if __name__ == "__main__":
    main()
