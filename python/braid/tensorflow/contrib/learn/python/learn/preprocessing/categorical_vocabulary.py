"""Numbers of categories, such as words."""

import collections


class CategoricalVocabulary:
    """Gives each category a number, in the order in which they come; 0 is that of unknown ones.

    support_reverse: `reverse` gives the category of a number.
    """

    def __init__(self, unknown_token="<UNK>", support_reverse=True):
        self._unknown_token = unknown_token
        self._mapping = {unknown_token: 0}
        self._support_reverse = support_reverse
        self._reverse_mapping = [unknown_token]
        self._freq = collections.defaultdict(int)
        self._freeze = False

    def __len__(self):
        return len(self._mapping)

    def freeze(self, freeze=True):
        """From now on new categories are unknown."""
        self._freeze = freeze

    def get(self, category):
        """The number of a category, which is new unless the vocabulary is frozen."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category, count=1):
        """Counts a category. Unknown ones are not counted."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency, max_frequency=-1):
        """Leaves the categories that came more than `min_frequency` and less than `max_frequency` times.

        They are numbered anew, the most frequent first.
        """
        by_name = sorted(self._freq.items(), key=lambda pair: (isinstance(pair[0], str), pair[0]))
        kept = [
            (category, count)
            for category, count in sorted(by_name, key=lambda pair: -pair[1])
            if count > min_frequency and not 0 < max_frequency <= count
        ]
        self._freq = collections.defaultdict(int, kept)
        self._reverse_mapping = [self._unknown_token] + [category for category, _ in kept]
        self._mapping = {category: i for i, category in enumerate(self._reverse_mapping)}

    def reverse(self, class_id):
        """The category of a number. ValueError: `support_reverse` is False."""
        if not self._support_reverse:
            raise ValueError(
                "This vocabulary wasn't initialized with support_reverse to support reverse() function."
            )
        return self._reverse_mapping[class_id]
