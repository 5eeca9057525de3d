"""The screens in urwid: pure of the network, drawn from the model. The only importer of urwid."""
