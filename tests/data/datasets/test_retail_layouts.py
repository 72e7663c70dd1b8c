"""Online Retail as its owner publishes it: sheets, dates, commas, returns."""

import polars as pl
import pytest

from sqlrank.data import datasets
from sqlrank.errors import DataError

HEADER = "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country"
SALES = [
    ("536365", "85123A", "HOLDER", "6", "2010-12-01 08:26:00", "2.55", "17850.0", "UK"),
    ("536366", "71053", "LANTERN", "2", "2010-12-02 09:00:00", "3.39", "17850.0", "UK"),
    ("536367", "85123A", "HOLDER", "1", "2010-12-13 10:00:00", "2.65", "17850.0", "UK"),
    ("C53636", "71053", "LANTERN", "-2", "2010-12-14 09:00:00", "3.39", "17850.0", "UK"),
    ("536368", "85123A", "?", "3", "2010-12-15 10:00:00", "2.75", "", "UK"),
    ("536369", "POST", "POSTAGE", "1", "2010-12-16 10:00:00", "18", "12583.0", "France"),
]
DECEMBER_2 = 1_291_280_400_000_000
EXPECTED = [
    (12583, "POST", DECEMBER_2 + 14 * 86_400_000_000 + 3_600_000_000),
    (17850, "71053", DECEMBER_2),
    (17850, "85123A", DECEMBER_2 + 11 * 86_400_000_000 + 3_600_000_000),
]


def check_retail(data):
    assert data.train.to_table().rows() == EXPECTED and data.train.values is None
    assert data.train.report.rows == 6
    # No customer; a return; a repeated purchase.
    assert [step.rows for step in data.train.report.steps] == [1, 1, 1]
    assert data.items.rows() == [
        ("71053", "LANTERN", 3.39),
        ("85123A", "HOLDER", 2.6),
        ("POST", "POSTAGE", 18.0),
    ]
    assert data.users.rows() == [(12583, "France"), (17850, "UK")]


def sales(pattern="%Y-%m-%d %H:%M:%S", comma=False):
    from datetime import datetime

    for number, code, text, quantity, date, price, customer, country in SALES:
        when = datetime.fromisoformat(date).strftime(pattern)
        yield (
            number,
            code,
            text,
            quantity,
            when,
            price.replace(".", ",") if comma else price,
            customer,
            country,
        )


@pytest.mark.parametrize("file", ["Online Retail.csv", "online_retail.csv"])
@pytest.mark.parametrize(
    "pattern", ["%Y-%m-%d %H:%M:%S", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M", "%d.%m.%Y %H:%M"]
)
@pytest.mark.parametrize("comma", [False, True])
def test_online_retail_csv(write, tmp_path, file, pattern, comma):
    separator = ";" if comma else ","
    lines = [HEADER.replace(",", separator), *(separator.join(line) for line in sales(pattern, comma))]
    write(f"online-retail/{file}", "\n".join(lines) + "\n")
    check_retail(datasets.load("online-retail", tmp_path))


def test_online_retail_parquet_with_commas_and_zeros(tmp_path):
    frame = pl.DataFrame(list(sales("%d.%m.%Y %H:%M", comma=True)), schema=HEADER.split(","), orient="row")
    customer = pl.col("CustomerID").cast(pl.Float64, strict=False).fill_null(0).cast(pl.Int32)
    frame = frame.with_columns(customer, pl.col("Quantity").cast(pl.Int32))
    (tmp_path / "online-retail").mkdir()
    frame.write_parquet(tmp_path / "online-retail/online_retail.parquet")
    check_retail(datasets.load("online-retail", tmp_path))


def write_sheet(path):
    from datetime import datetime

    sheets = pytest.importorskip("xlsxwriter")
    path.parent.mkdir(parents=True)
    with sheets.Workbook(path, {"default_date_format": "yyyy-mm-dd hh:mm"}) as book:
        sheet = book.add_worksheet("Online Retail")
        sheet.write_row(0, 0, HEADER.split(","))
        for row, (number, code, text, quantity, date, price, customer, country) in enumerate(SALES, start=1):
            codes = [int(value) if value.isdigit() else value for value in (number, code)]
            cells = [*codes, text, int(quantity), datetime.fromisoformat(date), float(price)]
            sheet.write_row(row, 0, [*cells, float(customer) if customer else None, country])


def test_online_retail_excel(tmp_path):
    pytest.importorskip("fastexcel")
    write_sheet(tmp_path / "online-retail/Online Retail.xlsx")
    check_retail(datasets.load("online-retail", tmp_path))


def test_online_retail_excel_without_its_reader(write, tmp_path, monkeypatch):
    monkeypatch.setattr("sqlrank.data.datasets.retail.find_spec", lambda name: None)
    write("online-retail/Online Retail.xlsx", b"PK")
    with pytest.raises(DataError, match=r"pip install fastexcel.*save the sheet as 'Online Retail\.csv'"):
        datasets.load("online-retail", tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Quantity", "Amount", "has no column 'Quantity'"),
        ("2010-12-13 10:00:00", "yesterday", "row 3, column 'InvoiceDate': 'yesterday' is not a date"),
        (",6,", ",six,", "row 1, column 'Quantity': 'six' is not a number"),
    ],
)
def test_damaged_online_retail(write, tmp_path, old, new, message):
    text = "\n".join([HEADER, *(",".join(line) for line in sales())])
    write("online-retail/online_retail.csv", text.replace(old, new))
    with pytest.raises(DataError, match=message):
        datasets.load("online-retail", tmp_path)
