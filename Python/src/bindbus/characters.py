"""Characters as a person perceives them: the rules of UAX #29 that matter to text that people type."""
from __future__ import annotations

import unicodedata
from typing import List

_PREPEND = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}


def in_word(character: str) -> bool:
    """Whether it is a letter or a digit."""
    return character[0].isalpha() or character[0].isnumeric()


def characters(text: str) -> List[str]:
    """The characters of a text: `é` is one however it is written, and a flag is one."""
    found: List[str] = []
    for scalar in text:
        if found and _continues(found[-1], scalar):
            found[-1] += scalar
        else:
            found.append(scalar)
    return found


def _continues(former: str, scalar: str) -> bool:
    last, code = former[-1], ord(scalar)
    if former == "\r":
        return scalar == "\n"
    if unicodedata.category(last) in ("Cc", "Zl", "Zp") or unicodedata.category(scalar) in ("Cc", "Zl", "Zp"):
        return False
    if unicodedata.category(scalar)[0] == "M" or code in (0x200C, 0x200D) or 0x1F3FB <= code <= 0x1F3FF:
        return True
    if 0xE0020 <= code <= 0xE007F or ord(last) in _PREPEND:
        return True
    if 0x1F1E6 <= code <= 0x1F1FF:
        return len(former) % 2 == 1 and all(0x1F1E6 <= ord(each) <= 0x1F1FF for each in former)
    if last == "\u200d":
        return unicodedata.category(scalar) == "So" and unicodedata.category(former[0]) == "So"
    return _continues_syllable(ord(last), code)


def _continues_syllable(last: int, code: int) -> bool:
    """Hangul: letters of one syllable."""
    leads, vowel, trail = 0x1100 <= code < 0x1160, 0x1160 <= code < 0x11A8, 0x11A8 <= code < 0x1200
    is_whole = 0xAC00 <= last < 0xD7A4
    if 0x1100 <= last < 0x1160:
        return leads or vowel or 0xAC00 <= code < 0xD7A4
    if 0x1160 <= last < 0x11A8 or is_whole and (last - 0xAC00) % 28 == 0:
        return vowel or trail
    return (0x11A8 <= last < 0x1200 or is_whole) and trail
