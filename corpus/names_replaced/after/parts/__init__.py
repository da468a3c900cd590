from . import under_another_name as pieces
