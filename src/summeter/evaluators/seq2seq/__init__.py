"""Judges that use an encoder-decoder network: BARTScore, UniEval, TrueTeacher and A2CU."""
