import other as F
