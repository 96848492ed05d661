" Vim filetype plugin
" Language: Heal

if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=#\ %s
setlocal comments=:#,s1:/*,mb:*,ex:*/
setlocal expandtab shiftwidth=4 softtabstop=4
setlocal smartindent
" `:make` checks the file; the quickfix list shows the places.
setlocal makeprg=healc\ check\ %:S
setlocal errorformat=%Eerror%m,%Eerror:\ %m,%C\ \ -->\ %f:%l:%c,%-C%.%#

let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< smartindent< makeprg< errorformat<"
