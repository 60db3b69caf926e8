[("wgmma_persistent", "as_is", []),
 ("wgmma_persistent", "band8", [("BAND = 16", "BAND = 8")]),
 ("wgmma_persistent", "band32", [("BAND = 16", "BAND = 32")]),
 ("wgmma_persistent", "stages3", [("STAGES = 4", "STAGES = 3")]),
 ("wgmma_stored", "as_is", []),
 ("wgmma_stored", "band8", [("BAND = 16", "BAND = 8")]),
]
