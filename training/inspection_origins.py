"""Where the sentences come from that the inspection's network is fitted and measured on."""

POOL, DRAWN, WRITTEN, SET, REAL, NEVER = range(
    6
)  # tools; templates; lines; sets; real servers; sets not fitted
