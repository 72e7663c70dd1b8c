"""Invented names for invented data: titles whose noun gives the genre away, and people with a surname."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["GENRES", "Titles", "people", "titles"]

_NOUNS = {
    "adventure": "Expedition Compass Summit Canyon Caravan Lagoon Frontier Voyage",
    "comedy": "Wedding Neighbour Landlord Circus Uncle Waiter Honeymoon Parrot",
    "cooking": "Kitchen Banquet Orchard Bakery Lemon Saffron Picnic Teapot",
    "crime": "Alibi Detective Witness Ransom Verdict Burglar Informer Clue",
    "fantasy": "Dragon Wizard Kingdom Enchantress Amulet Griffin Sword Oracle",
    "history": "Empire Cathedral Regiment Duchess Scroll Galleon Monastery Treaty",
    "horror": "Cellar Crypt Scarecrow Asylum Ghost Mirror Raven Séance",
    "music": "Sonata Orchestra Saxophone Choir Waltz Chorus Drummer Nocturne",
    "nature": "Forest Glacier Meadow Heron River Island Wolf Garden",
    "romance": "Letter Summer Serenade Bouquet Promise Ballroom Confession Valentine",
    "science fiction": "Android Comet Starship Colony Signal Satellite Wormhole Planet",
    "sport": "Marathon Goalkeeper Sprint Regatta Champion Racket Stadium Peloton",
}
_ADJECTIVES = """
Amber Ancient Autumn Bitter Blue Borrowed Brave Broken Careless Copper Crimson Crooked Distant Electric
Emerald Endless Faithful Fallen Forgotten Fragile Frozen Gentle Golden Hidden Hollow Honest Hungry
Invisible Jealous Last Little Lonely Lost Lucky Midnight Modern Northern Paper Patient Perfect Quiet
Restless Royal Sacred Scarlet Second Secret Silent Silver Sleeping Stolen Stubborn Sudden Tender Thirsty
Tiny Unlikely Velvet Wandering Wicked Wild Winter Wooden Yellow
"""
_FIRST_NAMES = """
Ada Ali Amara Ana Anders Anya Arjun Astrid Ayla Bea Ben Bruno Carla Carlos Chen Clara Daan Dana David Dina
Edith Elias Elif Emma Emre Eva Fatima Felix Fiona Frida Gita Grace Hana Hassan Helen Hugo Ida Igor Ines
Ivan Jana Jin Jonas Julia Kai Karim Kate Kofi Lara Lars Leila Leo Lin Lucia Maja Marco Maria Mei Milan
Mina Nadia Nils Nina Noah Nora Olga Omar Oscar Paula Pedro Petra Priya Rana Ravi Rosa Ruth Sam Sara Sofia
Tara Theo Tom Uma Vera Victor Wanda Yara Yuki Yusuf Zoe
"""
_SURNAMES = """
Abbott Adler Almeida Baker Bianchi Bishop Brandt Carter Castro Chandra Costa Dahl Diaz Dubois Eriksen
Fischer Fontaine Fox Garcia Gupta Haas Hansen Hill Hughes Ito Jansen Kaya Keller Khan Kim Klein Kovac Lee
Lopez Marino Meyer Moreau Mori Murphy Nagy Nakamura Novak Okafor Olsen Park Patel Perez Popov Reed Rossi
Sato Schmidt Silva Singh Stone Suzuki Tanaka Torres Ueda Vogel Walker Wang Weber Wolf Young Yilmaz Zhang
Ziegler
"""

GENRES = tuple(_NOUNS)
"""The genres of the artificial catalogue."""


class Titles(NamedTuple):
    """Distinct titles in ascending order, and for each of them the number of its genre in :data:`GENRES`."""

    names: pl.Series
    genres: NDArray[np.int32]


def titles(n: int, seed: int) -> Titles:
    """``n`` titles such as *Silent Lighthouse*; past the last combination they get a number, as sequels do.

    >>> titles(3, seed=1).names.to_list()
    ['Hidden Bouquet', 'Last Teapot', 'Perfect Valentine']
    """
    nouns = [noun for words in _NOUNS.values() for noun in words.split()]
    per_genre = len(nouns) // len(_NOUNS)
    table = _combinations(_ADJECTIVES.split(), nouns, n, seed)
    genres = (table["second"] // per_genre).cast(pl.Int32)
    ordered = table.select("name", genre=genres).sort("name")
    return Titles(ordered["name"], ordered["genre"].to_numpy())


def people(n: int, seed: int) -> pl.Series:
    """``n`` distinct names of people in ascending order.

    >>> people(2, seed=1).to_list()
    ['Carlos Jansen', 'Uma Dubois']
    """
    return _combinations(_FIRST_NAMES.split(), _SURNAMES.split(), n, seed)["name"].sort()


def _combinations(first: Sequence[str], second: Sequence[str], n: int, seed: int) -> pl.DataFrame:
    """``n`` distinct "first second" pairs in random order, with the number of the second word."""
    pairs = len(first) * len(second)
    order = np.random.default_rng(seed).permutation(pairs)
    picked = order[np.arange(n) % pairs]
    edition = np.arange(n) // pairs + 1
    frame = pl.DataFrame(
        {
            "first": pl.Series(first).gather(picked // len(second)),
            "word": pl.Series(second).gather(picked % len(second)),
            "second": picked % len(second),
            "edition": edition,
        }
    )
    suffix = (
        pl.when(pl.col("edition") > 1).then(" " + pl.col("edition").cast(pl.String)).otherwise(pl.lit(""))
    )
    return frame.select("second", name=pl.col("first") + " " + pl.col("word") + suffix)
