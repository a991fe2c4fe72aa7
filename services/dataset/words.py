"""The words from which the seed builds names and texts."""

# ruff: noqa: SIM905 - words read better as text than as a list

from __future__ import annotations

FIRST_NAMES = tuple(
    "Ada Alan Amal Anders Barbara Carl Chen Dana Edsger Elif Emma Farid Fatima Frida Grace Hana Hedy Ines Ivan Jana "
    "Jonas Kaito Katherine Lars Leila Linus Luca Mae Margaret Mira Nadia Niklaus Nina Noor Olga Omar Priya Radia Rosa "
    "Samir Sofia Tarek Tim Tove Vera Yuki Zara Zoe".split()
)
LAST_NAMES = tuple(
    "Almeida Andersson Bauer Becker Bianchi Brandt Castro Dubois Eriksen Fischer Fontaine Garcia Haddad Hansen Hoffman "
    "Ivanova Jansen Keller Kim Klein Kowalski Lange Lefevre Lindgren Marino Mori Nagy Novak Okafor Olsen Petit Ricci "
    "Rossi Santos Sato Schmidt Silva Svensson Tanaka Vogel Wagner Weber Winter Yilmaz Zhang Ziegler".split()
)
STREETS = tuple(
    "Harbour Street,Mill Lane,Station Road,Garden Row,Church Hill,Bridge Street,Market Square,Elm Avenue,Linden Alley,"
    "Castle Walk,River Bank,School Lane,Baker Street,Forest Drive,Sunny Side,North Gate".split(",")
)
CITIES = (
    ("Berlin", "101", "DE"),
    ("Hamburg", "204", "DE"),
    ("Munich", "803", "DE"),
    ("Cologne", "506", "DE"),
    ("Vienna", "10", "AT"),
    ("Graz", "80", "AT"),
    ("Paris", "750", "FR"),
    ("Lyon", "690", "FR"),
    ("Madrid", "280", "ES"),
    ("Valencia", "460", "ES"),
    ("Rome", "001", "IT"),
    ("Turin", "101", "IT"),
    ("Lisbon", "11", "PT"),
    ("Porto", "41", "PT"),
    ("Helsinki", "001", "FI"),
    ("Brussels", "10", "BE"),
)
"""Cities, the first digits of their postal codes, countries."""
ADJECTIVES = tuple(
    "Amber Bold Bright Calm Classic Clever Compact Crisp Deep Everyday Fine Foldable Gentle Handy Heavy Light Little "
    "Lively Modern Nordic Plain Quiet Round Rustic Sharp Slim Smart Soft Solid Sturdy Tiny Warm".split()
)
MATERIALS = tuple(
    "Bamboo Beech Brass Canvas Ceramic Copper Cork Cotton Enamel Felt Glass Granite Leather Linen Maple Marble Oak "
    "Paper Pine Porcelain Rubber Silk Slate Steel Stone Teak Tin Walnut Wicker Willow Wool Zinc".split()
)
NOUNS = tuple(
    "Apron Basket Bench Blanket Bookend Bottle Bowl Box Brush Candle Chair Clock Coaster Cup Cushion Desk Frame Jar "
    "Kettle Lamp Mat Mirror Mug Pan Plate Pot Rug Shelf Stool Tray Umbrella Vase".split()
)
USES = tuple(
    "the kitchen,a small desk,the garden,long journeys,a quiet corner,the hallway,guests,a rainy day,the workshop,"
    "every morning,a picnic,the bathroom,a child's room,the balcony,a winter evening,the office".split(",")
)
VERDICTS = (
    ("Broke on the first day", "Could have been better"),
    ("Not what I hoped for", "Looks nicer than it works"),
    ("Does what it should", "Fair for the price"),
    ("Very pleased", "Good value"),
    ("Would buy it again", "Simply perfect"),
)
REMARKS = tuple(
    "It came within three days and well packed.,The colour is a little darker than on the picture.,"
    "My neighbour bought one as well.,I have used it every day since.,It feels heavier than expected.,"
    "It fits well with what I had.,The finish is smooth all over.,Cleaning it takes a minute.".split(",")
)
