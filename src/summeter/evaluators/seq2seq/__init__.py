"""Judges that use an encoder-decoder: BARTScore, UniEval, TrueTeacher, A2CU."""
