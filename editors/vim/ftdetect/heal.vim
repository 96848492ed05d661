autocmd BufNewFile,BufRead *.heal setfiletype heal
