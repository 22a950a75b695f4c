"""The parts of a cost in the report: storage has a column where a cluster has some."""

from datetime import date
from types import SimpleNamespace

from compare_fakes import configuration, of

from wavetank.compare.comparison import Price
from wavetank.compare.tables.cost import cost_table

PRICE = Price(
    table="t", date=date(2026, 1, 1), source="a test", region="here", currency="USD", billing="per second"
)  # fmt: skip


def table(*configurations):
    return cost_table(SimpleNamespace(price=PRICE), configurations)


def with_storage(cluster):
    made = configuration(cluster, [1.0, 1.0], costs=[0.5, 0.5])
    cost = made.cost.model_copy(update={"cost_storage": of(0.125, 0.125)})
    return made.model_copy(update={"cost": cost})


def test_storage_that_is_paid_by_time_has_a_column_of_its_own():
    found = table(with_storage("a"), configuration("b", [1.0, 1.0], costs=[0.5, 0.5]))
    names = [column.key for column in found.columns]
    place = names.index("cost_storage")
    assert all(len(row) == len(names) for row in found.rows)
    assert "0.125" in found.rows[0][place].text
    assert found.rows[1][place].value is None


def test_clusters_without_such_storage_have_the_table_that_they_had():
    found = table(configuration("b", [1.0, 1.0], costs=[0.5, 0.5]))
    assert "cost_storage" not in [column.key for column in found.columns_shown]
    assert all(len(row) == len(found.columns) for row in found.rows)
