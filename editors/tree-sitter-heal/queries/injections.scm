; Links and words such as TODO in comments.
([(line_comment) (block_comment)] @injection.content
 (#set! injection.language "comment"))
