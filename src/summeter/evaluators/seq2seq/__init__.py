"""Judges that are an encoder-decoder: BARTScore, UniEval, TrueTeacher, A2CU."""
