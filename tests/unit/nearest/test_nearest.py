import pytest

from wavetank.nearest import did_you_mean, nearest

REGIONS = ("us-east-1", "eu-west-3", "eu-west-1", "eu-west-2")


def test_the_nearest_name_comes_first_and_equals_by_the_alphabet():
    assert nearest("eu-west-9", REGIONS) == ["eu-west-1", "eu-west-2", "eu-west-3"]
    assert nearest("modle", ["mode", "report", "model"]) == ["model", "mode"]  # swapped letters


def test_a_name_that_is_known_twice_is_named_once():
    assert nearest("modle", ["model", "model"]) == ["model"]


def test_upper_and_lower_case_are_the_same():
    assert nearest("NSF", ["nfs", "none"]) == ["nfs"]
    assert nearest("c5.Large", ["C5.large"]) == ["C5.large"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("modle", " Did you mean 'model'?"),
        ("eu-west-9", " Did you mean 'eu-west-1' or 'eu-west-2' or 'eu-west-3'?"),
        ("zzz", ""),
    ],
)
def test_a_question_names_what_is_near_and_nothing_else(name, said):
    assert did_you_mean(name, ["model", *REGIONS]) == said
