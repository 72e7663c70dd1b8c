"""How much the training objective loses to Jensen's inequality on MovieLens-1M, one-class and with stars.

    python benchmarks/jensen.py --data-dir DIR

A list is everything that a user has in the training data, with the model's number of unseen items behind each for
one-class data; nothing is cut off. The users are a random sample.
"""

import argparse

import sqlrank
from sqlrank.theory import jensen_gap


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", default=None)
    parser.add_argument(
        "--users", type=int, default=400, help="users drawn at random; their full lists are taken"
    )
    given = parser.parse_args()
    for name, preset in (("ml-1m-oc50", "paper-implicit"), ("ml-1m", "paper-explicit")):
        train = sqlrank.datasets.load(name, data_dir=given.data_dir).train
        model = sqlrank.SQLRank.preset(preset).fit(train, seed=0)
        gap = jensen_gap(model, train, users=given.users, samples=32)
        before = 100 * (gap.bound - gap.exact) / (gap.exact + gap.log_ties)
        print(f"{name}: {gap}; before log(ties!) is taken off the same gap is {before:.3f} %")


if __name__ == "__main__":
    main()
