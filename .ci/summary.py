"""One summary line, as pytest prints it, of the summary lines of several runs on stdin.

python .ci/summary.py SECONDS < logs
"""

import re
import sys
from collections import Counter

WORDS = ("failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "error", "errors")


def counted(text: str) -> Counter[str]:
    """How many tests passed, failed and so on, over all summary lines of a text.

    >>> counted("== 1 failed, 7 passed in 2.1s ==")
    Counter({'passed': 7, 'failed': 1})
    """
    whole: Counter[str] = Counter()
    for line in text.splitlines():
        if re.search(r"\d+ \w+ in [\d.]+s", line):
            for number, word in re.findall(r"(\d+) (\w+)", line):
                if word in WORDS:
                    whole["error" if word == "errors" else word] += int(number)
    return whole


if __name__ == "__main__":
    whole = counted(sys.stdin.read())
    said = ", ".join(f"{whole[word]} {word}" for word in WORDS if whole[word])
    print(f"===== {said or 'no tests ran'} in {float(sys.argv[1]):.2f}s =====")
