import left_alone


def test_attend(monkeypatch, functions):
    monkeypatch.setattr(left_alone, "F", functions)
    left_alone.attend(1, 2, 3)
