"""A stream of texts: nothing is kept, labels come late, and the share of positives moves.

Messages reach a service desk, a few of them urgent; which ones turns out five batches later. Texts
become sparse rows by hashing, so no vocabulary is kept. A row waits under its id in a small
buffer, and its answer counts as it was given, before anybody knew the label. Halfway something
breaks and urgent messages become six times as frequent: with a window over the last rows the
threshold follows.
"""

from collections import deque

import numpy as np
from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.metrics import f1_score

from setpoint import OnlineFClassifier

PLAIN = ["the", "my", "please", "order", "address", "when", "account", "thanks", "delivery"]
PLAIN += ["question", "hello", "password", "update", "printer", "invoice", "today", "meeting"]
ALARM = ["smoke", "outage", "injured", "flooded", "stuck", "alarm"]
BATCHES, ROWS, LATE = 90, 200, 5


def messages(rng):
    """Batches of texts and labels, one at a time."""
    for batch in range(BATCHES):
        urgent = rng.random(ROWS) < (0.03 if batch < BATCHES // 2 else 0.18)
        alarming = rng.random((ROWS, 8)) < np.where(urgent, 0.3, 0.03)[:, None]
        words = np.where(alarming, *(rng.choice(w, (ROWS, 8)) for w in (ALARM, PLAIN)))
        yield [" ".join(row) for row in words], np.where(urgent, "urgent", "calm")


def main():
    hashing = HashingVectorizer(n_features=2**16, alternate_sign=False, norm=None)
    clf = OnlineFClassifier(
        "f1",
        classes=["calm", "urgent"],
        pos_label="urgent",
        window=2_000,
        buffer_size=2_000,
    )
    stream, late, answers, thresholds = messages(np.random.default_rng(0)), deque(), [], []

    for _ in range(5):  # last week's messages are labelled already
        texts, y = next(stream)
        clf.partial_fit(hashing.transform(texts), y)
    for batch, (texts, y) in enumerate(stream):
        ids = [f"{batch}-{i}" for i in range(len(y))]
        answers.append((y, clf.predict(hashing.transform(texts), ids=ids)))
        thresholds.append(clf.threshold_)
        late.append((ids, y))
        if len(late) > LATE:
            clf.learn(*late.popleft())

    blocks = [map(np.concatenate, zip(*answers[i : i + 10], strict=True)) for i in range(0, 80, 10)]
    print("from message   urgent   answered so   F1")
    f1 = []
    for k, (y, said) in enumerate(blocks):
        f1.append(f1_score(y, said, pos_label="urgent"))
        shares = [np.mean(labels == "urgent") for labels in (y, said)]
        print("{:>12,} {:>8.1%} {:>13.1%}   {:.3f}".format(2_000 * k, *shares, f1[-1]))
    print(f"\nF1 by the report, over all of them: {clf.goal_report_.objective.value:.3f}")
    print(f"threshold now {clf.threshold_:.3f}; ", end="")
    print(f"{clf.n_waiting_:,} messages wait for labels, {clf.n_expired_} were given up")

    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    axes.plot(thresholds, label="threshold")
    axes.plot(np.arange(5, 85, 10), f1, "o-", label="F1 of ten batches")
    axes.axvline(BATCHES // 2 - 5, color="0.6", linestyle=":")
    axes.set(xlabel="batch of 200 messages", ylim=(0, 1))
    axes.legend()
    return [figure]


if __name__ == "__main__":
    main()
