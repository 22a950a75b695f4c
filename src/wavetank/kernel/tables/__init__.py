"""The tables of kernels: what a replay performs, lines of benchmarks, the certificate, results.

In: kernels, certificates, results. Out: tables without markup.
"""
