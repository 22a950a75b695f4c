"""Prices in another currency."""

from decimal import Decimal

import pytest

from wavetank.cost.prices import ExchangeRate, load_prices, read_rate
from wavetank.errors import CostError, SpecError

EURO = ExchangeRate(of="USD", to="EUR", rate="0.5", date="2026-11-20", source="the test")


def test_every_amount_of_a_table_is_converted_and_nothing_else():
    before = load_prices("aws-us-east-1-2026-07")
    after = before.converted(EURO)
    assert (after.currency, after.exchange, after.name) == ("EUR", EURO, before.name)
    assert after.price_per_h("c3.2xlarge") == Decimal("0.21")
    gp3, was = after.storage_price("ebs-gp3"), before.storage_price("ebs-gp3")
    assert (gp3.per_gb_month, gp3.per_iops_month) == (Decimal("0.040"), Decimal("0.0025"))
    assert (gp3.included_iops, gp3.minimum_gb, gp3.date) == (
        was.included_iops,
        was.minimum_gb,
        was.date,
    )
    assert after.storage_price("s3-standard").per_1000_writes == Decimal("0.0025")
    out = after.transfer_price("internet-out")
    assert out.cost(200 * 10**9) == before.transfer_price("internet-out").cost(200 * 10**9) / 2
    assert [tier.to_gb for tier in out.tiers][:2] == [100, 10240]


def test_a_table_in_that_currency_stays_and_one_of_a_third_is_refused():
    before = load_prices("papers-2016")
    assert before.converted(None) is before
    after = before.converted(EURO)
    assert after.converted(EURO) is after
    with pytest.raises(
        CostError, match="papers-2016 is in EUR, and the rate of exchange is of USD to GBP"
    ):
        after.converted(EURO.model_copy(update={"to": "GBP"}))


@pytest.mark.parametrize("lost", ["date", "source", "rate"])
def test_a_rate_without_its_day_or_source_is_none(tmp_path, lost):
    said = {"of": "USD", "to": "EUR", "rate": "0.9", "date": "2026-11-20", "source": "a bank"}
    lines = [f"{key}: {value}" for key, value in said.items() if key != lost]
    (tmp_path / "euro.yaml").write_text("\n".join(lines))
    with pytest.raises(SpecError, match=lost):
        read_rate(tmp_path / "euro.yaml")


def test_a_file_that_is_not_there_is_told_with_what_to_write(tmp_path):
    with pytest.raises(CostError, match="keys of, to, rate, date and source"):
        read_rate(tmp_path / "none.yaml")
